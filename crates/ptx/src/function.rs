//! Functions: parameters, launch bounds, registers, variables and statements.

use crate::operand::{Class, Label, Operand, Predicate, Register, Symbol};
use crate::printer::Printer;
use crate::{Instruction, Modifier, Space, Type, Variable};

/// A parameter of a kernel or a function.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// The name by which `ld.param` reads it.
    pub name: Symbol,
    /// The type, of an element if it is an array.
    pub ty: Type,
    /// The number of elements of an array, such as the 128 bytes of a tensor map.
    pub array: Option<u64>,
    /// The alignment in bytes, if not the type's.
    pub align: Option<u32>,
    /// What is known of the pointer that it is.
    pub pointer: Option<PointerFact>,
}

impl Parameter {
    /// A scalar.
    pub fn new(name: impl Into<Symbol>, ty: Type) -> Parameter {
        Parameter { name: name.into(), ty, array: None, align: None, pointer: None }
    }
}

/// What is known of a pointer: `.ptr`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PointerFact {
    /// The space it points to.
    pub space: Space,
    /// The alignment in bytes of what it points to.
    pub align: u32,
}

/// What is known of a kernel's launches, and asked of its registers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LaunchBounds {
    /// `.maxntid`: the most threads of a block.
    pub max_threads: Option<[u32; 3]>,
    /// `.reqntid`: the threads of every block.
    pub required_threads: Option<[u32; 3]>,
    /// `.minnctapersm`: the blocks that must fit a multiprocessor.
    pub min_blocks: Option<u32>,
    /// `.maxnreg`: the most registers of a thread.
    pub max_registers: Option<u32>,
    /// `.reqnctapercluster`: the blocks of every cluster.
    pub cluster: Option<[u32; 3]>,
}

impl LaunchBounds {
    /// How `min_blocks` is printed, a line of its own.
    pub fn min_blocks_text(blocks: u32) -> String {
        format!(".minnctapersm {blocks}\n")
    }
}

/// A function or kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    /// Whether it is launched, rather than called.
    pub is_kernel: bool,
    /// Whether it is visible outside the module.
    pub visible: bool,
    /// The name.
    pub name: Symbol,
    /// The results, of a function that is called.
    pub results: Vec<Parameter>,
    /// The parameters.
    pub parameters: Vec<Parameter>,
    /// What is known of its launches.
    pub bounds: LaunchBounds,
    /// The number of registers of each class, in the order of [`Class::ALL`].
    pub registers: [u32; 5],
    /// Variables of its own.
    pub variables: Vec<Variable>,
    /// What it does.
    pub body: Vec<Statement>,
}

impl Function {
    /// An empty kernel.
    pub fn kernel(name: impl Into<Symbol>) -> Function {
        Function {
            is_kernel: true,
            visible: true,
            name: name.into(),
            results: Vec::new(),
            parameters: Vec::new(),
            bounds: LaunchBounds::default(),
            registers: [0; 5],
            variables: Vec::new(),
            body: Vec::new(),
        }
    }

    /// A register that is used nowhere else.
    pub fn fresh(&mut self, class: Class) -> Register {
        let count = &mut self.registers[class as usize];
        *count += 1;
        Register { class, index: *count - 1 }
    }

    /// Appends an instruction.
    pub fn push(&mut self, instruction: impl Into<Instruction>) {
        self.body.push(Statement::Instruction { guard: None, instruction: instruction.into() });
    }

    /// Appends an instruction that is executed only where the predicate holds.
    pub fn push_if(&mut self, guard: Predicate, instruction: impl Into<Instruction>) {
        self.body.push(Statement::Instruction { guard: Some(guard), instruction: instruction.into() });
    }

    /// The instructions with their guards.
    pub fn instructions(&self) -> impl Iterator<Item = (Option<Predicate>, &Instruction)> {
        self.body.iter().filter_map(|statement| match statement {
            Statement::Instruction { guard, instruction } => Some((*guard, instruction)),
            _ => None,
        })
    }

    /// Whether texts of the user are in it.
    pub(crate) fn has_verbatim(&self) -> bool {
        self.body.iter().any(|statement| matches!(statement, Statement::Verbatim(_)))
    }

    pub(crate) fn print(&self, out: &mut Printer) {
        out.raw(if self.visible { ".visible " } else { "" });
        out.raw(if self.is_kernel { ".entry " } else { ".func " });
        print_signature(out, &self.name, &self.results, &self.parameters);
        out.raw("\n");
        let bounds = &self.bounds;
        let triples = [
            (".maxntid", bounds.max_threads),
            (".reqntid", bounds.required_threads),
            (".reqnctapercluster", bounds.cluster),
        ];
        for (directive, value) in triples {
            if let Some([x, y, z]) = value {
                out.format(format_args!("{directive} {x}, {y}, {z}\n"));
            }
        }
        if let Some(blocks) = bounds.min_blocks {
            out.raw(&LaunchBounds::min_blocks_text(blocks));
        }
        if let Some(registers) = bounds.max_registers {
            out.format(format_args!(".maxnreg {registers}\n"));
        }
        out.raw("{\n");
        for (&class, &count) in Class::ALL.iter().zip(&self.registers) {
            if count > 0 {
                let (ty, letter) = (class.declared().text(), class.text());
                out.format(format_args!("\t.reg .{ty} %{letter}<{count}>;\n"));
            }
        }
        for variable in &self.variables {
            out.raw("\t");
            variable.print(out);
        }
        for statement in &self.body {
            statement.print(out);
        }
        out.raw("}\n");
    }
}

/// Writes `(results) name(parameters)`.
pub(crate) fn print_signature(
    out: &mut Printer,
    name: &str,
    results: &[Parameter],
    parameters: &[Parameter],
) {
    if !results.is_empty() {
        print_parameters(out, results);
        out.raw(" ");
    }
    out.raw(name);
    print_parameters(out, parameters);
}

fn print_parameters(out: &mut Printer, parameters: &[Parameter]) {
    out.raw("(");
    for (index, parameter) in parameters.iter().enumerate() {
        out.raw(if index == 0 { "\n\t.param" } else { ",\n\t.param" });
        if let Some(align) = parameter.align {
            out.format(format_args!(" .align {align}"));
        }
        out.raw(" ").word(parameter.ty.text());
        if let Some(pointer) = parameter.pointer {
            out.format(format_args!(" .ptr .{} .align {}", pointer.space.text(), pointer.align));
        }
        out.raw(" ").raw(&parameter.name);
        if let Some(count) = parameter.array {
            out.format(format_args!("[{count}]"));
        }
    }
    out.raw(if parameters.is_empty() { ")" } else { "\n)" });
}

/// A line of a function's body.
#[derive(Clone, Debug, PartialEq)]
pub enum Statement {
    /// A place that branches go to.
    Label(Label),
    /// An instruction, executed where the guard holds.
    Instruction {
        /// The guard.
        guard: Option<Predicate>,
        /// The instruction.
        instruction: Instruction,
    },
    /// A call, with the stores and loads of its parameters.
    Call(Call),
    /// `.loc`: the source line of what follows.
    Location {
        /// The number of the file, from 1.
        file: u32,
        /// The line, from 1.
        line: u32,
        /// The column, from 1.
        column: u32,
    },
    /// Text of the user, passed on as it is in a scope of its own.
    Verbatim(String),
}

impl Statement {
    pub(crate) fn print(&self, out: &mut Printer) {
        match self {
            Statement::Label(label) => out.format(format_args!("$L{}:\n", label.0)),
            Statement::Instruction { guard, instruction } => {
                out.raw("\t");
                if let Some(guard) = guard {
                    out.raw("@").predicate_value(*guard).raw(" ");
                }
                instruction.print(out);
                out.raw(";\n")
            }
            Statement::Call(call) => call.print(out),
            Statement::Location { file, line, column } => {
                out.format(format_args!("\t.loc {file} {line} {column}\n"))
            }
            Statement::Verbatim(text) => {
                let (begin, end) = (crate::parse::VERBATIM_BEGIN, crate::parse::VERBATIM_END);
                out.format(format_args!("\t{begin}{text}{end}\n"))
            }
        };
    }
}

/// A call by the convention of the platform: parameters and the result pass through variables of space `.param`.
///
/// `vprintf`, by which kernels print, takes the address of the format and of the packed arguments, and
/// returns the number of arguments.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// Whether all lanes of the warp call together.
    pub uniform: bool,
    /// The function.
    pub function: Symbol,
    /// The arguments.
    pub arguments: Vec<(Type, Operand)>,
    /// Where the result goes.
    pub result: Option<(Type, Register)>,
}

impl Call {
    fn print<'a>(&self, out: &'a mut Printer) -> &'a mut Printer {
        out.raw("\t{\n");
        for (index, &(ty, value)) in self.arguments.iter().enumerate() {
            let ty = ty.text();
            out.format(format_args!("\t.param .{ty} argument{index};\n\t"));
            out.name("st.param").word(ty).symbol(&format!("[argument{index}]")).operand(value).raw(";\n");
        }
        if let Some((ty, _)) = self.result {
            out.format(format_args!("\t.param .{} result0;\n", ty.text()));
        }
        out.raw("\t").name("call").flag(self.uniform, "uni");
        if self.result.is_some() {
            out.symbol("(result0)");
        }
        let names: Vec<String> = (0..self.arguments.len()).map(|index| format!("argument{index}")).collect();
        out.symbol(&self.function).symbol(&format!("({})", names.join(", "))).raw(";\n");
        if let Some((ty, register)) = self.result {
            out.raw("\t").name("ld.param").modifier(ty).operand(register).symbol("[result0]").raw(";\n");
        }
        out.raw("\t}\n")
    }
}
