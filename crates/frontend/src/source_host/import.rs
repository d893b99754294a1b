//! Imports: of the language, of parts of Python's library that are known, and of files beside the importing one.

use super::known::Known;
use super::{Object, SourceHost};
use crate::builtin;
use crate::host::HostValue;
use ruff_python_ast::{StmtImport, StmtImportFrom};
use std::path::{Path, PathBuf};

impl SourceHost {
    /// `import a.b` and `import a.b as c`.
    pub(super) fn import(&mut self, module: usize, import: &StmtImport) {
        for alias in &import.names {
            let path: Vec<&str> = alias.name.split('.').collect();
            match &alias.asname {
                Some(name) => {
                    let value = self.imported(module, &path, 0);
                    self.bind(module, name, value);
                }
                None => {
                    // Only the first name is bound; the files below it are made its attributes.
                    let root = self.imported(module, &path[..1], 0);
                    self.bind(module, path[0], root.clone());
                    let mut parent = root;
                    for end in 2..=path.len() {
                        let child = self.imported(module, &path[..end], 0);
                        self.add_attribute(&parent, path[end - 1], &child);
                        parent = child;
                    }
                }
            }
        }
    }

    /// `from a.b import c as d`, `from . import c`, `from a import *`.
    pub(super) fn import_from(&mut self, module: usize, import: &StmtImportFrom) {
        let path: Vec<&str> =
            import.module.as_ref().map(|name| name.split('.').collect()).unwrap_or_default();
        let parent = self.imported(module, &path, import.level);
        for alias in &import.names {
            if &alias.name == "*" {
                for (name, value) in self.public_names(&parent) {
                    self.bind(module, &name, value);
                }
                continue;
            }
            let found = self.evaluator(module).attribute(&parent, &alias.name);
            let value = found.unwrap_or_else(|| {
                let mut path = path.clone();
                path.push(&alias.name);
                self.imported(module, &path, import.level)
            });
            self.bind(module, alias.asname.as_ref().unwrap_or(&alias.name), value);
        }
    }

    /// What a dotted path stands for; `level` counts the dots before it.
    fn imported(&mut self, module: usize, path: &[&str], level: u32) -> HostValue {
        if level == 0
            && let Some((root, rest)) = path.split_first()
            && let Some(known) = Known::module(root)
        {
            let found = rest
                .iter()
                .try_fold(known.value(), |value, name| self.evaluator(module).attribute(&value, name));
            return found.unwrap_or_else(|| self.unknown("module"));
        }
        match self.find_file(module, path, level).map(|file| self.load(&file)) {
            Some(Ok(index)) => HostValue::Module(self.modules[index].object),
            // A package without a file of its own, or something that is not there as source: kernels cannot use it, unless an import
            // of what lies below it finds a file.
            _ => HostValue::Module(self.add_object(Object::Attributes(Default::default()))),
        }
    }

    /// The file of a module. An absolute path may start in the importing file's folder or in the one that holds its package.
    fn find_file(&self, module: usize, path: &[&str], level: u32) -> Option<PathBuf> {
        let folder = self.modules.get(module)?.path.as_ref()?.parent()?;
        if level > 0 {
            let start = folder.ancestors().nth(level as usize - 1)?;
            return file_below(start, path);
        }
        let mut start = folder;
        loop {
            if let Some(file) = file_below(start, path) {
                return Some(file);
            }
            if !start.join("__init__.py").is_file() {
                return None;
            }
            start = start.parent()?;
        }
    }

    fn add_attribute(&mut self, parent: &HostValue, name: &str, child: &HostValue) {
        let HostValue::Module(object) = parent else { return };
        let Some(object) = usize::try_from(object.0).ok().and_then(|index| self.objects.get_mut(index))
        else {
            return;
        };
        match object {
            Object::Module(index) => {
                let index = *index;
                self.bind(index, name, child.clone());
            }
            Object::Attributes(attributes) => {
                attributes.insert(name.to_owned(), child.clone());
            }
            _ => {}
        }
    }

    /// What `import *` brings.
    fn public_names(&self, parent: &HostValue) -> Vec<(String, HostValue)> {
        let names: Vec<String> = match parent {
            HostValue::Module(object) => crate::host::Host::attribute_names(self, *object),
            HostValue::Language(module) => builtin::names(module).into_iter().map(str::to_owned).collect(),
            _ => Vec::new(),
        };
        let public = names.into_iter().filter(|name| !name.starts_with('_'));
        public.filter_map(|name| Some((name.clone(), self.evaluator(0).attribute(parent, &name)?))).collect()
    }
}

fn file_below(start: &Path, path: &[&str]) -> Option<PathBuf> {
    let place = path.iter().fold(start.to_owned(), |place, name| place.join(name));
    [place.with_extension("py"), place.join("__init__.py")].into_iter().find(|file| file.is_file())
}
