//! Machine code as text, by the disassembler of NVIDIA's toolkit.

use super::Failure;
use std::path::PathBuf;
use std::process::Command;

/// The environment variable that names the program.
pub const VARIABLE: &str = "TEGULA_NVDISASM";

/// The machine instructions, with the lines of the source that they come from (`//## File "kernels.py", line 6`).
///
/// `packages` are folders of Python packages, where the program is looked for, too.
///
/// # Errors
/// [`Failure`] with what the program says, or that there is none.
pub fn disassemble(cubin: &[u8], packages: &[PathBuf]) -> Result<String, Failure> {
    let named = std::env::var_os(VARIABLE).filter(|path| !path.is_empty()).map(PathBuf::from);
    let program = named.or_else(|| super::program("nvdisasm", packages)).ok_or_else(|| {
        Failure::Unavailable(format!(
            "nvdisasm, of NVIDIA's toolkit, is neither on PATH nor under CUDA_HOME; {VARIABLE} may name it"
        ))
    })?;
    let folder = tempfile::tempdir()?;
    let image = folder.path().join("kernel.cubin");
    std::fs::write(&image, cubin)?;
    let run = Command::new(&program)
        .args(["--print-line-info", "--print-code"])
        .arg(&image)
        .output()
        .map_err(|error| Failure::Unavailable(format!("cannot run {}: {error}", program.display())))?;
    if !run.status.success() {
        let log = String::from_utf8_lossy(&run.stderr).into_owned();
        return Err(Failure::Refused(log.replace(&*image.to_string_lossy(), "the machine code")));
    }
    Ok(String::from_utf8_lossy(&run.stdout).into_owned())
}
