//! The assembler of NVIDIA's toolkit, a process for each kernel.

use super::{Assembled, Failure, Job, Report};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where `ptxas` is.
#[derive(Clone, Debug)]
pub struct Ptxas {
    path: PathBuf,
}

impl Ptxas {
    /// The environment variable that names the program.
    pub const VARIABLE: &str = "TEGULA_PTXAS";

    /// The program that the user names.
    pub fn named(path: impl Into<PathBuf>) -> Ptxas {
        Ptxas { path: path.into() }
    }

    /// Looks in the folders of `PATH`, in Python packages (`nvidia-cuda-nvcc`), and in the toolkit that `CUDA_HOME` names.
    pub fn find(packages: &[PathBuf]) -> Option<Ptxas> {
        super::program("ptxas", packages).map(Ptxas::named)
    }

    /// The path of the program.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Machine code of PTX.
    ///
    /// # Errors
    /// [`Failure`] with what the assembler says, or why it does not run.
    pub fn assemble(&self, job: &Job<'_>) -> Result<Assembled, Failure> {
        let folder = tempfile::tempdir()?;
        let (source, output) = (folder.path().join("kernel.ptx"), folder.path().join("kernel.cubin"));
        std::fs::write(&source, job.ptx)?;
        let mut command = Command::new(&self.path);
        command.arg("-v").arg("--generate-line-info").arg("--gpu-name").arg(job.machine.to_string());
        if let Some(registers) = job.max_registers {
            command.arg("--maxrregcount").arg(registers.to_string());
        }
        command.arg(&source).arg("--output-file").arg(&output);
        let run = command
            .output()
            .map_err(|error| Failure::Unavailable(format!("cannot run {}: {error}", self.path.display())))?;
        let log = String::from_utf8_lossy(&run.stderr).into_owned();
        if !run.status.success() {
            // The name of a file that is gone says nothing.
            return Err(Failure::Refused(log.replace(&*source.to_string_lossy(), "the PTX")));
        }
        Ok(Assembled { cubin: std::fs::read(&output)?, report: Report::parse(&log) })
    }
}
