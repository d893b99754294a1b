//! The order of programs: those that take longest come first.
//!
//! A GPU starts the programs of a grid from the first to the last. Where the last are those that loop most, as the rows of causal attention do,
//! some multiprocessors still have a long one to do when the others have run out of work. So the grid is walked from its end along an
//! axis with whose number the iterations of the loops that multiply grow.

use tegula_ir::{BinaryOp, Function, Literal, Op, RegionId, Value, ValueDef};

/// The axes of a grid.
const AXES: usize = 3;

/// For each axis of the grid, whether programs are numbered from its end.
pub(crate) fn reversed_axes(function: &Function) -> [bool; AXES] {
    let minds = |op: &Op| match op {
        // A text of the user may ask the hardware for its place in the grid.
        Op::InlineAssembly { .. } => true,
        // Programs that wait for others count on those before them to have started.
        Op::AtomicRmw { .. } | Op::AtomicCas { .. } | Op::Load { volatile: true, .. } => true,
        _ => false,
    };
    if (0..function.op_count() as u32).any(|op| minds(&function.op(tegula_ir::OpId(op)).op)) {
        return [false; AXES];
    }
    let mut trends = [Some(Trend::Constant); AXES];
    loops(function, function.body, &mut trends);
    trends.map(|trend| trend == Some(Trend::Rises))
}

/// How a number changes along an axis of the grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trend {
    Constant,
    Rises,
    Falls,
}

impl Trend {
    /// Of a sum; `None` if unknown.
    fn plus(self, other: Trend) -> Option<Trend> {
        match (self, other) {
            (Trend::Constant, trend) | (trend, Trend::Constant) => Some(trend),
            (one, other) => (one == other).then_some(one),
        }
    }

    fn negated(self) -> Trend {
        match self {
            Trend::Constant => Trend::Constant,
            Trend::Rises => Trend::Falls,
            Trend::Falls => Trend::Rises,
        }
    }
}

/// Joins the trends of the iterations of all loops that multiply; what one has that is unknown says nothing against another.
fn loops(function: &Function, region: RegionId, trends: &mut [Option<Trend>; AXES]) {
    for &op in &function.region(region).ops {
        let data = &function.op(op).op;
        data.regions().iter().for_each(|&inner| loops(function, inner, trends));
        let Op::For { lower, upper, step, body, .. } = data else { continue };
        let multiplies =
            function.region(*body).ops.iter().any(|&op| matches!(function.op(op).op, Op::Dot { .. }));
        if !multiplies || integer(function, *step).is_none_or(|step| step <= 0) {
            continue;
        }
        for (axis, trend) in trends.iter_mut().enumerate() {
            let [upper, lower] = [*upper, *lower].map(|bound| trend_of(function, bound, axis));
            let iterations = upper.zip(lower).and_then(|(upper, lower)| upper.plus(lower.negated()));
            if let Some(iterations) = iterations {
                *trend = trend.and_then(|trend| trend.plus(iterations));
            }
        }
    }
}

/// How a scalar changes along an axis of the grid; `None` if that cannot be told.
fn trend_of(function: &Function, value: Value, axis: usize) -> Option<Trend> {
    let op = match function.value(value).def {
        ValueDef::Param(_) => return Some(Trend::Constant),
        ValueDef::RegionArg { .. } => return None,
        ValueDef::Result { op, .. } => op,
    };
    let of = |value: Value| trend_of(function, value, axis);
    match &function.op(op).op {
        Op::Constant(_) | Op::NumPrograms { .. } => Some(Trend::Constant),
        Op::ProgramId { axis: own } => {
            Some(if usize::from(*own) == axis { Trend::Rises } else { Trend::Constant })
        }
        Op::Cast { value, .. } => of(*value),
        Op::Binary { op, lhs, rhs } => {
            let (left, right) = (of(*lhs)?, of(*rhs)?);
            let positive = |value: Value| integer(function, value).is_some_and(|number| number > 0);
            match op {
                BinaryOp::Add | BinaryOp::Min | BinaryOp::Max => left.plus(right),
                BinaryOp::Sub => left.plus(right.negated()),
                BinaryOp::Mul | BinaryOp::Div | BinaryOp::Shl | BinaryOp::Shr if positive(*rhs) => Some(left),
                BinaryOp::Mul if positive(*lhs) => Some(right),
                _ if left == Trend::Constant && right == Trend::Constant => Some(Trend::Constant),
                _ => None,
            }
        }
        _ => None,
    }
}

/// The integer that a value is.
fn integer(function: &Function, value: Value) -> Option<i64> {
    let Op::Constant(Literal::Int(number)) = function.defining_op(value)?.op else { return None };
    Some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The reversed axes of a kernel whose loop has these bounds.
    fn reversed(lower: &str, upper: &str) -> [bool; AXES] {
        let text = format!(
            "kernel @k(%x: *fp32, %n: i32) {{
               %0 = program_id 0 : i32
               %1 = program_id 1 : i32
               %2 = constant 64 : i32
               %3 = mul %0, %2 : i32
               %4 = sub %n, %1 : i32
               %5 = constant 0 : i32
               %6 = constant 0.0 : fp32
               %7 = splat %6 : <16x16xfp32>
               %8 = for %9 = {lower} to {upper} step %2 carry (%10 = %7) {{
                 %11 = dot %7, %7 acc %10 : <16x16xfp32>
                 yield %11
               }} : <16x16xfp32>
             }}"
        );
        let function = Function::parse(&text).unwrap_or_else(|error| panic!("{error}"));
        reversed_axes(&function)
    }

    #[test]
    fn the_longest_come_first() {
        assert_eq!(reversed("%5", "%3"), [true, false, false]);
        assert_eq!(reversed("%3", "%n"), [false; 3]);
        assert_eq!(reversed("%5", "%4"), [false; 3]);
        assert_eq!(reversed("%5", "%n"), [false; 3]);
        assert_eq!(reversed("%4", "%n"), [false, true, false]);
        // Of a sum that rises along one axis and falls along another, both are told.
        assert_eq!(reversed("%4", "%3"), [true, true, false]);
    }
}
