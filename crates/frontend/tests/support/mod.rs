//! Kernels in files whose first line says how to compile them: `# *fp32 i32 1024`.

mod signature;

use tegula_frontend::source_host::SourceHost;
use tegula_frontend::{CompileError, Machine, Request, compile};
use tegula_ir::Function;

/// Compiles the function `kernel` of a text; for Python to run it, if `interpreted`.
pub fn compile_text(name: &str, text: &str, interpreted: bool) -> Result<Function, CompileError> {
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
    let arguments = signature::arguments(first_line.trim_start_matches('#'));
    compile(&host, &Request { kernel, arguments, machine: Machine::Cpu, interpreted })
}
