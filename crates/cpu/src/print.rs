//! `device_print` and `device_assert`.

use crate::block::Block;
use crate::bounds::describe_lane;
use crate::execute::{Executor, Outcome};
use crate::launch::StopReason;
use crate::program::{Assert, Print};
use crate::scalar;
use std::fmt::Write as _;
use std::io::Write as _;
use tegula_ir::Scalar;
use tegula_strip::isa;

impl Executor<'_> {
    /// Prints values one element a line, as Triton does: `pid (x, y, z) idx (i, j) prefix: value`.
    pub fn print(&mut self, print: &Print) {
        let [x, y, z] = self.id;
        if print.values.is_empty() {
            let _ = writeln!(self.printed, "pid ({x}, {y}, {z}) {}", print.prefix);
        }
        for (operand, &value) in print.values.iter().enumerate() {
            let ty = self.program.ty(value.place);
            let block = self.settled(crate::program::Operand { last: false, ..value });
            let Block::Dense(values, _buffer) = self.pack(block, ty) else {
                unreachable!("a packed block is dense")
            };
            for lane in 0..self.count(ty) {
                let address = (values.base as usize + lane * ty.width) as *const u8;
                // SAFETY: a packed block has `count` elements.
                let bits = unsafe { scalar::read(address, ty.scalar) };
                let index = match describe_lane(lane, &ty.extents).as_str() {
                    "" => "()".to_owned(),
                    text => text.trim_start_matches(" in lane ").to_owned(),
                };
                let prefix = &print.prefix;
                let text = format_element(bits, ty.scalar, print.hex);
                let _ = write!(self.printed, "pid ({x}, {y}, {z}) idx {index} {prefix}");
                if print.values.len() > 1 {
                    let _ = write!(self.printed, " (operand {operand})");
                }
                let _ = writeln!(self.printed, "{}{text}", if prefix.ends_with(": ") { "" } else { ": " });
            }
        }
    }

    /// Writes what the program printed, in one piece, so that the lines of programs do not mix.
    pub fn print_out(&mut self) {
        if !self.printed.is_empty() {
            let mut out = std::io::stdout().lock();
            // A closed standard output is no reason for a kernel to fail.
            let _ = out.write_all(self.printed.as_bytes()).and_then(|()| out.flush());
            self.printed.clear();
        }
    }

    /// Stops the launch if a condition does not hold.
    pub fn assert(&mut self, assert: &Assert) -> Outcome {
        let ty = self.program.ty(assert.condition.place);
        let condition = self.settled(assert.condition);
        let mask = match assert.mask {
            Some(mask) => self.settled(mask),
            None => Block::Splat(1),
        };
        let holds = |block: &Block| matches!(block, Block::Splat(bits) if *bits != 0);
        if holds(&condition) || matches!(mask, Block::Splat(0)) {
            return Ok(());
        }
        let (condition, mask) = (self.pack(condition, ty), self.pack(mask, ty));
        let (Block::Dense(condition, _a), Block::Dense(mask, _b)) = (&condition, &mask) else {
            unreachable!("a packed block is dense")
        };
        for lane in 0..self.count(ty) {
            // SAFETY: packed truth values have a byte each.
            let (holds, inside) = unsafe {
                let byte = |base: i64| *((base as usize + lane) as *const u8);
                (byte(condition.base) != 0, byte(mask.base) != 0)
            };
            if inside && !holds {
                let lane = describe_lane(lane, &ty.extents);
                let message = format!("device assertion failed{lane}: {}", assert.message);
                return Err(self.error(StopReason::Assertion, message));
            }
        }
        Ok(())
    }
}

/// An element as text.
fn format_element(bits: u64, ty: Scalar, hex: bool) -> String {
    if hex {
        let digits = ty.bytes() as usize * 2;
        let mask = u64::MAX >> (64 - 8 * ty.bytes());
        return format!("0x{:0digits$x}", bits & mask);
    }
    if ty.is_float() {
        return format!("{:.6}", scalar::to_f64(bits, ty, isa::selected()));
    }
    if ty.is_signed() { (bits as i64).to_string() } else { bits.to_string() }
}
