//! What a kernel's arguments are, in one line: `*fp32 i32 1024 True`.

use tegula_frontend::{Argument, HostValue};
use tegula_ir::{Pointer, Scalar, Type};

/// The arguments of a line: types of run-time values, constants, and tuples of either in parentheses.
pub fn arguments(line: &str) -> Vec<Argument> {
    line.split_whitespace().map(argument).collect()
}

fn argument(text: &str) -> Argument {
    let runtime = |ty| Argument::Runtime { ty, divisible_by: 1 };
    if let Some(items) = text.strip_prefix('(').and_then(|text| text.strip_suffix(')')) {
        return Argument::Tuple(items.split(',').map(argument).collect(), None);
    }
    if let Some(pointee) = text.strip_prefix('*').and_then(Scalar::from_name) {
        return runtime(Type::scalar(Pointer::to(pointee)));
    }
    if let Some(scalar) = Scalar::from_name(text) {
        return runtime(Type::scalar(scalar));
    }
    Argument::Constexpr(match text {
        "None" => HostValue::None,
        "True" => HostValue::Bool(true),
        "False" => HostValue::Bool(false),
        number if number.parse::<i128>().is_ok() => HostValue::Int(number.parse().unwrap()),
        string => HostValue::Str(string.to_owned()),
    })
}
