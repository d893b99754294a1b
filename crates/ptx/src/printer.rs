//! Writes instructions as text.

use std::fmt::Write;

use crate::operand::Base;
use crate::{Address, Label, Modifier, Operand, Predicate, Register};

/// The text written so far. Words of a name are joined by dots, operands by commas.
#[derive(Debug, Default)]
pub(crate) struct Printer {
    text: String,
    operands: usize,
    /// The registers written, in order.
    registers: Vec<Register>,
}

impl Printer {
    /// The text.
    pub fn finish(self) -> String {
        self.text
    }

    /// The registers of what is printed, in order.
    pub fn registers_of(print: impl FnOnce(&mut Printer)) -> Vec<Register> {
        let mut printer = Printer::default();
        print(&mut printer);
        printer.registers
    }

    /// Appends text as it is.
    pub fn raw(&mut self, text: &str) -> &mut Printer {
        self.text.push_str(text);
        self
    }

    /// Appends formatted text.
    pub fn format(&mut self, arguments: std::fmt::Arguments<'_>) -> &mut Printer {
        // Writing to a string does not fail.
        let _ = self.text.write_fmt(arguments);
        self
    }

    /// Begins an instruction.
    pub fn name(&mut self, name: &str) -> &mut Printer {
        self.operands = 0;
        self.raw(name)
    }

    /// Adds a word to the name.
    pub fn word(&mut self, word: &str) -> &mut Printer {
        self.text.push('.');
        self.raw(word)
    }

    /// Adds a modifier to the name.
    pub fn modifier(&mut self, modifier: impl Modifier) -> &mut Printer {
        self.word(modifier.text())
    }

    /// Adds a modifier that may be absent.
    pub fn optional(&mut self, modifier: Option<impl Modifier>) -> &mut Printer {
        match modifier {
            Some(modifier) => self.modifier(modifier),
            None => self,
        }
    }

    /// Adds a word if it applies.
    pub fn flag(&mut self, present: bool, word: &str) -> &mut Printer {
        if present { self.word(word) } else { self }
    }

    fn separate(&mut self) {
        self.text.push_str(if self.operands == 0 { " " } else { ", " });
        self.operands += 1;
    }

    /// Adds an operand.
    pub fn operand(&mut self, operand: impl Into<Operand>) -> &mut Printer {
        self.separate();
        self.value(operand.into())
    }

    /// Adds operands.
    pub fn operands(&mut self, operands: &[Operand]) -> &mut Printer {
        operands.iter().fold(self, |printer, &operand| printer.operand(operand))
    }

    /// Adds an operand that may be absent.
    pub fn optional_operand(&mut self, operand: Option<Operand>) -> &mut Printer {
        match operand {
            Some(operand) => self.operand(operand),
            None => self,
        }
    }

    /// Adds a destination of which a part may be wanted: `a|b`, with `_` for what is not.
    pub fn pair(&mut self, first: Option<Register>, second: Option<Register>) -> &mut Printer {
        self.separate();
        self.register_or_sink(first);
        if let Some(second) = second {
            self.text.push('|');
            self.value(second.into());
        }
        self
    }

    /// Adds a register, or `_` for none.
    pub fn sink(&mut self, register: Option<Register>) -> &mut Printer {
        self.separate();
        self.register_or_sink(register)
    }

    fn register_or_sink(&mut self, register: Option<Register>) -> &mut Printer {
        match register {
            Some(register) => self.value(register.into()),
            None => self.raw("_"),
        }
    }

    /// Adds a predicate that is read, perhaps negated.
    pub fn predicate(&mut self, predicate: Predicate) -> &mut Printer {
        self.separate();
        self.predicate_value(predicate)
    }

    /// Appends a predicate without a separator.
    pub fn predicate_value(&mut self, predicate: Predicate) -> &mut Printer {
        if predicate.negated {
            self.text.push('!');
        }
        self.value(predicate.register.into())
    }

    /// Adds `{a, b, ...}`.
    pub fn vector<T: Copy + Into<Operand>>(&mut self, values: &[T]) -> &mut Printer {
        self.separate();
        self.vector_value(values)
    }

    fn vector_value<T: Copy + Into<Operand>>(&mut self, values: &[T]) -> &mut Printer {
        self.text.push('{');
        for (index, &value) in values.iter().enumerate() {
            self.text.push_str(if index == 0 { "" } else { ", " });
            self.value(value.into());
        }
        self.text.push('}');
        self
    }

    /// Adds `{a, _, ...}`.
    pub fn sinks(&mut self, registers: &[Option<Register>]) -> &mut Printer {
        self.separate();
        self.text.push('{');
        for (index, &register) in registers.iter().enumerate() {
            self.text.push_str(if index == 0 { "" } else { ", " });
            self.register_or_sink(register);
        }
        self.text.push('}');
        self
    }

    /// Adds one value plainly, and several in braces.
    pub fn scalar_or_vector<T: Copy + Into<Operand>>(&mut self, values: &[T]) -> &mut Printer {
        match values {
            [single] => self.operand(*single),
            several => self.vector(several),
        }
    }

    /// Adds an address.
    pub fn address(&mut self, address: &Address) -> &mut Printer {
        self.separate();
        self.text.push('[');
        self.address_value(address);
        self.text.push(']');
        self
    }

    /// Adds the address of a tensor map with coordinates: `[map, {x, y}]`.
    pub fn tensor_address(&mut self, map: &Address, coordinates: &[Operand]) -> &mut Printer {
        self.separate();
        self.text.push('[');
        self.address_value(map);
        self.text.push_str(", ");
        self.vector_value(coordinates);
        self.text.push(']');
        self
    }

    fn address_value(&mut self, address: &Address) {
        match &address.base {
            Base::Register(register) => {
                self.value((*register).into());
            }
            Base::Symbol(symbol) => self.text.push_str(symbol),
            Base::Zero => {
                self.format(format_args!("{}", address.offset));
                return;
            }
        }
        if address.offset != 0 {
            // The grammar has a sum alone: a negative offset keeps its own sign.
            self.format(format_args!("+{}", address.offset));
        }
    }

    /// Adds a name.
    pub fn symbol(&mut self, symbol: &str) -> &mut Printer {
        self.separate();
        self.raw(symbol)
    }

    /// Adds a label.
    pub fn label(&mut self, label: Label) -> &mut Printer {
        self.separate();
        self.format(format_args!("$L{}", label.0))
    }

    fn value(&mut self, operand: Operand) -> &mut Printer {
        match operand {
            Operand::Register(register) => {
                self.registers.push(register);
                self.format(format_args!("{register}"))
            }
            Operand::Integer(value) => self.format(format_args!("{value}")),
            Operand::Float32(bits) => self.format(format_args!("0f{bits:08X}")),
            Operand::Float64(bits) => self.format(format_args!("0d{bits:016X}")),
            Operand::Special(special) => self.raw(special.text()),
        }
    }
}
