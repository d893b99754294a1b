//! A source file and the kernels in it.

use crate::error::Error;
use crate::kernel::{Kernel, Parameter};
use std::path::Path;
use std::sync::Arc;
use tegula_frontend::source_host::{LoadError, SourceHost};
use tegula_frontend::{FunctionRef, Host};

/// The kernels of a source file, with what they need of it and of the files that it imports.
#[derive(Clone, Debug)]
pub struct Module {
    name: String,
    host: Arc<SourceHost>,
}

impl Module {
    /// Reads a file, and the files beside it that it imports.
    ///
    /// # Errors
    /// [`Error::Read`], or [`Error::Kernel`] if the file is not Python.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Module, Error> {
        let path = path.as_ref();
        Module::new(path.display().to_string(), SourceHost::from_file(path))
    }

    /// Reads a text, such as one from `include_str!`; `name` stands for its file in messages.
    ///
    /// # Errors
    /// [`Error::Kernel`] if the text is not Python.
    pub fn from_source(name: &str, text: &str) -> Result<Module, Error> {
        Module::new(name.to_owned(), SourceHost::from_text(name, text))
    }

    fn new(name: String, host: Result<SourceHost, LoadError>) -> Result<Module, Error> {
        match host {
            Ok(host) => Ok(Module { name, host: Arc::new(host) }),
            Err(LoadError::Read { path, error }) => Err(Error::Read { path, error }),
            Err(LoadError::Syntax(error)) => Err(tegula_runtime::Error::Compile(*error).into()),
        }
    }

    /// The kernel called `name`.
    ///
    /// # Errors
    /// [`Error::UnknownKernel`], which names the kernels that there are.
    pub fn kernel(&self, name: &str) -> Result<Kernel, Error> {
        match self.host.kernels().find(|(known, _)| *known == name) {
            Some((_, function)) => self.describe(function),
            None => Err(Error::UnknownKernel {
                file: self.name.clone(),
                name: name.to_owned(),
                known: self.host.kernels().map(|(name, _)| name.to_owned()).collect(),
            }),
        }
    }

    /// Every kernel that the file defines, in order: its `@triton.jit` functions, helpers among them.
    ///
    /// # Errors
    /// [`Error::Kernel`] if one has a signature that no kernel can have.
    pub fn kernels(&self) -> Result<Vec<Kernel>, Error> {
        self.host.kernels().map(|(_, function)| self.describe(function)).collect()
    }

    fn describe(&self, function: FunctionRef) -> Result<Kernel, Error> {
        let unknown = |message: String| Error::UnknownKernel {
            file: self.name.clone(),
            name: message,
            known: Vec::new(),
        };
        let source = self.host.function(function).map_err(unknown)?;
        let parsed = source.parsed().map_err(|error| unknown(error.message))?;
        let constexprs = parsed.constexpr_parameters();
        let parameters = source
            .params
            .iter()
            .map(|param| Parameter {
                name: param.name.clone(),
                is_constexpr: constexprs.contains(&param.name.as_str()),
                has_default: param.default.is_some(),
            })
            .collect();
        Ok(Kernel::new(Arc::clone(&self.host), function, source, parameters))
    }
}
