//! Kernels in files whose first line says how to compile them: `# *fp32 i32 1024`.

use tegula_frontend::source_host::SourceHost;
use tegula_frontend::{Argument, CompileError, HostValue, Request, compile};
use tegula_ir::{Function, Pointer, Scalar, Type};

/// Compiles the function `kernel` of a text.
pub fn compile_text(name: &str, text: &str) -> Result<Function, CompileError> {
    let host = match SourceHost::from_text(name, text) {
        Ok(host) => host,
        Err(tegula_frontend::source_host::LoadError::Syntax(error)) => return Err(*error),
        Err(error) => panic!("{error}"),
    };
    let Some((_, kernel)) = host.kernels().find(|(name, _)| *name == "kernel") else {
        let nothing = tegula_ir::Diagnostic::error(tegula_ir::Span::default(), "there is no kernel");
        return Err(CompileError { diagnostics: vec![nothing], sources: Default::default() });
    };
    let first_line = text.lines().next().unwrap_or_default();
    let arguments = first_line.split_whitespace().skip(1).map(argument).collect();
    compile(&host, &Request { kernel, arguments })
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
