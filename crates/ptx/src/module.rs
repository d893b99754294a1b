//! Modules: what one text of PTX declares.

use crate::function::print_signature;
use crate::operand::Symbol;
use crate::printer::Printer;
use crate::target::{Features, Requirement, Target, Version};
use crate::{Class, Function, Modifier, Parameter, Space, Type};

modifier! {
    /// Who sees a variable.
    Linkage {
        /// The module alone.
        Internal = "",
        /// Other modules, and the host.
        Visible = "visible",
        /// It is defined elsewhere; of shared memory, its size is given at launch.
        Extern = "extern",
        /// As visible, but several modules may define it.
        Weak = "weak",
    }
}

/// How many elements a variable has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// One, not an array.
    One,
    /// So many.
    Array(u64),
    /// As many as the launch says.
    Unsized,
}

/// A variable of the module or of a function.
#[derive(Clone, Debug, PartialEq)]
pub struct Variable {
    /// Who sees it.
    pub linkage: Linkage,
    /// Where it is.
    pub space: Space,
    /// Its alignment in bytes.
    pub align: u32,
    /// The type of an element.
    pub ty: Type,
    /// The name.
    pub name: Symbol,
    /// The number of elements.
    pub extent: Extent,
    /// The first elements, for a variable of `.b8` in global or constant memory; the rest are zero.
    pub bytes: Vec<u8>,
}

impl Variable {
    /// The shared memory whose size the launch gives.
    pub fn dynamic_shared(name: impl Into<Symbol>, align: u32) -> Variable {
        Variable {
            linkage: Linkage::Extern,
            space: Space::Shared,
            align,
            ty: Type::B8,
            name: name.into(),
            extent: Extent::Unsized,
            bytes: Vec::new(),
        }
    }

    /// A constant text that ends with a zero byte, such as the format of `vprintf`.
    pub fn text(name: impl Into<Symbol>, text: &str) -> Variable {
        let bytes: Vec<u8> = text.bytes().chain([0]).collect();
        let extent = Extent::Array(bytes.len() as u64);
        let name = name.into();
        Variable {
            linkage: Linkage::Internal,
            space: Space::Global,
            align: 1,
            ty: Type::B8,
            name,
            extent,
            bytes,
        }
    }

    pub(crate) fn print(&self, out: &mut Printer) {
        if self.linkage != Linkage::Internal {
            out.word(self.linkage.text()).raw(" ");
        }
        out.word(self.space.text()).format(format_args!(" .align {} ", self.align)).word(self.ty.text());
        out.raw(" ").raw(&self.name);
        match self.extent {
            Extent::One => &mut *out,
            Extent::Array(count) => out.format(format_args!("[{count}]")),
            Extent::Unsized => out.raw("[]"),
        };
        for (index, byte) in self.bytes.iter().enumerate() {
            out.raw(if index == 0 { " = {" } else { ", " }).format(format_args!("{byte}"));
        }
        out.raw(if self.bytes.is_empty() { ";\n" } else { "};\n" });
    }
}

/// A function that is defined elsewhere, such as `vprintf`.
#[derive(Clone, Debug, PartialEq)]
pub struct ExternFunction {
    /// The name.
    pub name: Symbol,
    /// The results.
    pub results: Vec<Parameter>,
    /// The parameters.
    pub parameters: Vec<Parameter>,
}

impl ExternFunction {
    /// The function by which kernels print.
    pub fn vprintf() -> ExternFunction {
        ExternFunction {
            name: "vprintf".into(),
            results: vec![Parameter::new("result0", Type::B32)],
            parameters: vec![Parameter::new("argument0", Type::B64), Parameter::new("argument1", Type::B64)],
        }
    }
}

/// A module for one architecture.
#[derive(Clone, Debug, PartialEq)]
pub struct Module {
    /// The architecture: 80, 86, 89, 90, 100, 120.
    pub architecture: u32,
    /// The source files of `.loc`, from number 1.
    pub files: Vec<String>,
    /// Functions defined elsewhere.
    pub externs: Vec<ExternFunction>,
    /// Variables.
    pub variables: Vec<Variable>,
    /// Functions and kernels.
    pub functions: Vec<Function>,
}

/// An instruction that the module's architecture does not have.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("`{instruction}` in `{function}` needs {requirement}, and the target is sm_{architecture}")]
pub struct Unavailable {
    /// The function.
    pub function: Symbol,
    /// The instruction's text.
    pub instruction: String,
    /// What it needs.
    pub requirement: Requirement,
    /// What the module is for.
    pub architecture: u32,
}

impl Module {
    /// An empty module.
    pub fn new(architecture: u32) -> Module {
        Module {
            architecture,
            files: Vec::new(),
            externs: Vec::new(),
            variables: Vec::new(),
            functions: Vec::new(),
        }
    }

    /// The target: the architecture, with the suffix `a` exactly when an instruction needs it, so that
    /// other code runs on later architectures too.
    pub fn target(&self) -> Target {
        let specific = self.requirements().any(|requirement| requirement.needs_suffix());
        let features = if specific { Features::Specific } else { Features::Portable };
        Target { architecture: self.architecture, features }
    }

    /// The first version of PTX that has the target and every instruction.
    pub fn version(&self) -> Version {
        let first = self.target().first_version();
        self.requirements().fold(first, |version, requirement| version.max(requirement.version))
    }

    fn requirements(&self) -> impl Iterator<Item = Requirement> {
        let clusters = self.functions.iter().filter(|function| function.bounds.cluster.is_some());
        let wide = self.functions.iter().filter(|function| function.registers[Class::Bits128 as usize] > 0);
        // Nobody knows what a text of the user needs: it may use all that the target has.
        let of_texts = match self.architecture {
            90.. => Requirement::specific_from(90, 8, 5),
            _ => Requirement::from(80, 8, 5),
        };
        let texts = self.functions.iter().filter(|function| function.has_verbatim());
        let instructions = self.functions.iter().flat_map(|function| function.instructions());
        instructions
            .map(|(_, instruction)| instruction.requirement())
            .chain(clusters.map(|_| Requirement::from(90, 7, 8)))
            .chain(wide.map(|_| Requirement::from(80, 8, 3)))
            .chain(texts.map(move |_| of_texts))
    }

    /// Checks that the architecture has every instruction.
    ///
    /// # Errors
    /// The first instruction that it lacks.
    pub fn check(&self) -> Result<(), Unavailable> {
        for function in &self.functions {
            for (_, instruction) in function.instructions() {
                let requirement = instruction.requirement();
                if !requirement.is_met_by(self.architecture) {
                    return Err(Unavailable {
                        function: function.name.clone(),
                        instruction: instruction.to_string(),
                        requirement,
                        architecture: self.architecture,
                    });
                }
            }
        }
        Ok(())
    }

    /// The module read from its text.
    ///
    /// # Errors
    /// The text is not of the subset that this crate knows; the error has the line, and the name of an
    /// unknown instruction.
    pub fn parse(text: &str) -> Result<Module, crate::ParseError> {
        crate::parse::parse_module(text)
    }

    /// Reads a module as [`Module::parse`] does, with the line of each statement of each function's body, counted from 1.
    ///
    /// # Errors
    /// Those of [`Module::parse`].
    pub fn parse_with_lines(text: &str) -> Result<(Module, Vec<Vec<u32>>), crate::ParseError> {
        crate::parse::parse_module_with_lines(text)
    }
}

/// The text of the module.
impl std::fmt::Display for Module {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut out = Printer::default();
        out.format(format_args!(
            ".version {}\n.target {}\n.address_size 64\n",
            self.version(),
            self.target()
        ));
        for function in &self.externs {
            out.raw("\n.extern .func ");
            print_signature(&mut out, &function.name, &function.results, &function.parameters);
            out.raw(";\n");
        }
        out.raw(if self.variables.is_empty() { "" } else { "\n" });
        for variable in &self.variables {
            variable.print(&mut out);
        }
        for function in &self.functions {
            out.raw("\n");
            function.print(&mut out);
        }
        out.raw(if self.files.is_empty() { "" } else { "\n" });
        for (index, file) in self.files.iter().enumerate() {
            // Strings of PTX have no escapes, and a path is only shown.
            let path = file.replace(['"', '\n'], "_");
            out.format(format_args!(".file {} \"{path}\"\n", index + 1));
        }
        f.write_str(&out.finish())
    }
}

/// The instruction's text, without guard and semicolon.
impl std::fmt::Display for crate::Instruction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut out = Printer::default();
        self.print(&mut out);
        f.write_str(&out.finish())
    }
}
