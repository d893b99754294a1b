//! `device_print` and `device_assert`, through the `vprintf` of the driver.
//!
//! Each element is a line, as on the CPU: `pid (x, y, z) idx (i, j) prefix: value`. Arguments are packed in
//! local memory, integers below 64 bits as such or as 32 bits, floats as fp64.

use super::emit::{fails, holds};
use super::{Lowering, Result};
use tegula_ir::{Rounding, Scalar, Value};
use tegula_ptx::{
    Address, Call, Class, Control, ConvertAddress, ExternFunction, Linkage, MathOp, Move, Operand, Register,
    Space, Store, Type, Variable,
};

/// The local memory in which arguments are packed.
const ARGUMENTS: &str = "print_arguments";
/// Three coordinates of the program, up to eight of the element, a value.
const ARGUMENT_BYTES: u64 = 128;

impl Lowering<'_> {
    pub(super) fn print(&mut self, prefix: &str, hex: bool, values: &[Value]) -> Result<()> {
        let pid = "pid (%d, %d, %d)";
        let first = self.is_first_thread();
        if values.is_empty() {
            let format = format!("{pid} {}\n", escaped(prefix));
            self.only_where(first, |lowering| lowering.print_line(&format, &[]));
            return Ok(());
        }
        for (operand, &value) in values.iter().enumerate() {
            let ty = self.function.ty(value).clone();
            let index = vec!["%d"; ty.shape.rank()].join(", ");
            let mut format = format!("{pid} idx ({index}) {}", escaped(prefix));
            if values.len() > 1 {
                format += &format!(" (operand {operand})");
            }
            let scalar = self.scalar_type(value);
            let separator = if prefix.ends_with(": ") { "" } else { ": " };
            format += &format!("{separator}{}\n", conversion(scalar, hex));
            if ty.is_scalar() {
                let register = self.scalar(value);
                let argument = self.argument(scalar, hex, register)?;
                self.only_where(first, |lowering| lowering.print_line(&format, &[argument]));
                continue;
            }
            let (layout, registers) = self.anywhere(value);
            let inside = self.inside(layout, &ty.shape);
            let owner = self.is_owner(layout);
            for (register, &element) in registers.iter().enumerate() {
                let guard = self.code.both(owner, inside[register]);
                let mut arguments = Vec::new();
                for axis in 0..ty.shape.rank() as u8 {
                    let base = self.coordinate(layout, axis);
                    let place = Operand::Integer(self.register_coordinates(layout, axis)[register] as i64);
                    arguments.push(self.code.math(MathOp::Add, Type::U32, &[base.into(), place]));
                }
                arguments.push(self.argument(scalar, hex, element)?);
                match guard {
                    Some(guard) => {
                        self.only_where(guard, |lowering| lowering.print_line(&format, &arguments))
                    }
                    None => self.print_line(&format, &arguments),
                }
            }
        }
        Ok(())
    }

    pub(super) fn assert(&mut self, condition: Value, message: &str, mask: Option<Value>) -> Result<()> {
        let failed = if self.is_scalar(condition) {
            let register = self.scalar(condition);
            let fails = self.code.math(MathOp::Not, Type::Pred, &[register.into()]);
            let mask = mask.map(|mask| self.scalar(mask));
            self.code.both(Some(fails), mask)
        } else {
            let (layout, registers) = self.anywhere(condition);
            let masks = mask.map(|mask| self.block(mask, layout));
            let inside = self.inside(layout, &self.function.ty(condition).shape);
            let mut failed: Option<Register> = None;
            for (index, &register) in registers.iter().enumerate() {
                let fails = self.code.math(MathOp::Not, Type::Pred, &[register.into()]);
                let counts = self.code.both(masks.as_ref().map(|masks| masks[index]), inside[index]);
                let fails = self.code.both(counts, Some(fails)).unwrap_or(fails);
                failed = Some(match failed {
                    Some(other) => self.code.math(MathOp::Or, Type::Pred, &[other.into(), fails.into()]),
                    None => fails,
                });
            }
            failed
        };
        let Some(failed) = failed else { return Ok(()) };
        let place = self.function.sources.describe(self.span);
        let format = format!(
            "{}: device assertion failed in program (%d, %d, %d): {}\n",
            escaped(&place),
            escaped(message)
        );
        let (say, end) = (self.code.label(), self.code.label());
        self.code.branch(Some(holds(failed)), say, false);
        self.code.branch(None, end, false);
        self.code.place(say);
        self.print_line(&format, &[]);
        self.code.push(Control::Trap);
        self.code.place(end);
        Ok(())
    }

    /// A value as an argument of `printf`.
    fn argument(&mut self, scalar: Scalar, hex: bool, value: Register) -> Result<Register> {
        if scalar.is_float() && !hex {
            return self.cast(scalar, Scalar::Float64, Rounding::NearestEven, value);
        }
        Ok(match value.class {
            Class::Pred => self.code.number_of(value),
            Class::Bits16 => self.code.convert(Type::U32, Type::U16, None, value),
            _ if hex && scalar.bits() < 32 => {
                let mask = Operand::Integer((1 << scalar.bits()) - 1);
                self.code.math(MathOp::And, Type::B32, &[value.into(), mask])
            }
            _ => value,
        })
    }

    /// Calls `vprintf` with the program's coordinates and the arguments.
    fn print_line(&mut self, format: &str, arguments: &[Register]) {
        let externs = &mut self.module.externs;
        if externs.is_empty() {
            externs.push(ExternFunction::vprintf());
            self.code.function.variables.push(Variable {
                linkage: Linkage::Internal,
                space: Space::Local,
                align: 8,
                ty: Type::B8,
                name: ARGUMENTS.into(),
                extent: tegula_ptx::Extent::Array(ARGUMENT_BYTES),
                bytes: Vec::new(),
            });
        }
        let text = format!("format{}", self.module.variables.len());
        self.module.variables.push(Variable::text(text.as_str(), format));
        let programs = [0, 1, 2].map(|axis| self.program_number(axis));
        let code = &mut self.code;
        let buffer = code.fresh(Class::Bits64);
        code.push(Move::AddressOf { ty: Type::U64, dst: buffer, symbol: ARGUMENTS.into() });
        let mut offset = 0i32;
        for &argument in programs.iter().chain(arguments) {
            let ty = argument.class.declared();
            let bytes = (ty.bits() / 8) as i32;
            offset = (offset + bytes - 1) / bytes * bytes;
            code.push(Store::new(Space::Local, ty, Address::register(buffer, offset), &[argument.into()]));
            offset += bytes;
        }
        let generic = |space, source: Register, code: &mut super::emit::Emitter| {
            let dst = code.fresh(Class::Bits64);
            code.push(ConvertAddress { to_space: false, space, ty: Type::U64, dst, source: source.into() });
            dst
        };
        let buffer = generic(Space::Local, buffer, code);
        let address = code.fresh(Class::Bits64);
        code.push(Move::AddressOf { ty: Type::U64, dst: address, symbol: text.as_str().into() });
        let address = generic(Space::Global, address, code);
        let result = code.fresh(Class::Bits32);
        code.function.body.push(tegula_ptx::Statement::Call(Call {
            uniform: false,
            function: "vprintf".into(),
            arguments: vec![(Type::B64, address.into()), (Type::B64, buffer.into())],
            result: Some((Type::B32, result)),
        }));
    }

    /// Runs `write` only in threads where a predicate holds.
    fn only_where(&mut self, predicate: Register, write: impl FnOnce(&mut Self)) {
        let end = self.code.label();
        self.code.branch(Some(fails(predicate)), end, false);
        write(self);
        self.code.place(end);
    }
}

/// Text that `printf` prints as it is.
fn escaped(text: &str) -> String {
    text.replace('%', "%%")
}

/// How `printf` prints a value.
fn conversion(scalar: Scalar, hex: bool) -> String {
    let long = scalar.bits() == 64;
    match (hex, scalar.is_float(), scalar.is_signed()) {
        (true, ..) => format!("0x%0{}{}", scalar.bytes() * 2, if long { "llx" } else { "x" }),
        (_, true, _) => "%f".to_owned(),
        (_, _, true) => if long { "%lld" } else { "%d" }.to_owned(),
        _ => if long { "%llu" } else { "%u" }.to_owned(),
    }
}
