//! PTX to machine code.
//!
//! | assembler | where it is looked for | how it runs |
//! |---|---|---|
//! | nvJitLink ([`nvjitlink`]) | loaded already, Python packages (torch brings it), `CUDA_HOME` | in this process, many at once |
//! | ptxas ([`ptxas`]) | `TEGULA_PTXAS`, `PATH`, Python packages (`nvidia-cuda-nvcc`), `CUDA_HOME` | a process a kernel |
//! | the driver ([`linker`]) | with the GPU | in this process, one at a time |
//!
//! The first that is found does the work, except that a `ptxas` named by `TEGULA_PTXAS` comes before all. [`nvdisasm`] turns
//! machine code into text.

pub mod linker;
pub mod nvdisasm;
pub mod nvjitlink;
pub mod ptxas;
pub mod report;

pub use report::Report;

use nvjitlink::NvJitLink;
use ptxas::Ptxas;
use std::fmt;
use std::path::PathBuf;
use std::sync::OnceLock;
use tegula_ptx::Target as Architecture;

/// What is to be assembled.
#[derive(Clone, Copy, Debug)]
pub struct Job<'p> {
    pub ptx: &'p str,
    /// The architecture of the machine code.
    pub machine: Architecture,
    /// At most this many registers a thread.
    pub max_registers: Option<u32>,
}

/// Machine code, with what the assembler says of it.
#[derive(Clone, Debug)]
pub struct Assembled {
    pub cubin: Vec<u8>,
    pub report: Report,
}

/// Why there is no machine code.
#[derive(Clone, Debug)]
pub enum Failure {
    /// The assembler refuses the PTX, and says why.
    Refused(String),
    /// There is no assembler, or it does not run, or not for this architecture.
    Unavailable(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Failure::Refused(reason) | Failure::Unavailable(reason)) = self;
        f.write_str(reason)
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Failure {
        Failure::Unavailable(format!("the files of the assembler cannot be written or read: {error}"))
    }
}

/// What makes machine code here.
#[derive(Debug)]
pub enum Assembler {
    NvJitLink(NvJitLink),
    Ptxas(Ptxas),
    Driver,
}

impl Assembler {
    /// The first of the table that is found; `packages` are folders of Python packages.
    pub fn find(packages: &[PathBuf]) -> Assembler {
        if let Some(path) = std::env::var_os(Ptxas::VARIABLE).filter(|path| !path.is_empty()) {
            return Assembler::Ptxas(Ptxas::named(path));
        }
        if let Some(library) = NvJitLink::find(packages) {
            return Assembler::NvJitLink(library);
        }
        Ptxas::find(packages).map_or(Assembler::Driver, Assembler::Ptxas)
    }

    /// The assembler of this process, looked for at the first call.
    pub fn get() -> &'static Assembler {
        static FOUND: OnceLock<Assembler> = OnceLock::new();
        FOUND.get_or_init(|| Assembler::find(PACKAGES.get().map_or(&[], Vec::as_slice)))
    }

    /// Machine code of PTX.
    ///
    /// # Errors
    /// [`Failure::Refused`], which is a fault of whoever wrote the PTX, or [`Failure::Unavailable`].
    pub fn assemble(&self, job: &Job<'_>) -> Result<Assembled, Failure> {
        match self {
            Assembler::NvJitLink(library) => library.assemble(job),
            Assembler::Ptxas(program) => program.assemble(job),
            Assembler::Driver => linker::assemble(job),
        }
    }
}

impl fmt::Display for Assembler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Assembler::NvJitLink(library) => {
                let (major, minor) = library.version();
                write!(f, "nvJitLink {major}.{minor} ({})", library.path().display())
            }
            Assembler::Ptxas(program) => write!(f, "ptxas ({})", program.path().display()),
            Assembler::Driver => f.write_str("the driver"),
        }
    }
}

/// A program of the toolkit: in the folders of `PATH`, in Python packages, or in the toolkit itself.
fn program(name: &str, packages: &[PathBuf]) -> Option<PathBuf> {
    let name = format!("{name}{}", std::env::consts::EXE_SUFFIX);
    let on_path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&on_path).collect();
    folders.extend(package_folders(packages, "bin"));
    folders.extend(toolkits().map(|toolkit| toolkit.join("bin")));
    folders.into_iter().map(|folder| folder.join(&name)).find(|path| path.is_file())
}

/// Machine code as text.
///
/// # Errors
/// [`Failure`] if there is no disassembler, or if it refuses the code.
pub fn disassemble(cubin: &[u8]) -> Result<String, Failure> {
    nvdisasm::disassemble(cubin, PACKAGES.get().map_or(&[], Vec::as_slice))
}

static PACKAGES: OnceLock<Vec<PathBuf>> = OnceLock::new();

/// Says where Python keeps packages (`sys.path`), before anything is assembled; only the first call counts.
pub fn set_package_folders(folders: impl FnOnce() -> Vec<PathBuf>) {
    PACKAGES.get_or_init(folders);
}

/// The folders called `kind` of NVIDIA's packages: `nvidia/cu13/lib`, `nvidia/nvjitlink/lib`.
fn package_folders<'p>(packages: &'p [PathBuf], kind: &'static str) -> impl Iterator<Item = PathBuf> + 'p {
    packages.iter().flat_map(move |folder| {
        let entries = std::fs::read_dir(folder.join("nvidia")).into_iter().flatten().flatten();
        let mut found: Vec<PathBuf> =
            entries.map(|entry| entry.path().join(kind)).filter(|folder| folder.is_dir()).collect();
        // The order of a folder's entries is the file system's.
        found.sort();
        found
    })
}

/// Where the toolkit may be.
fn toolkits() -> impl Iterator<Item = PathBuf> {
    let named = ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(std::env::var_os);
    named.filter(|path| !path.is_empty()).map(PathBuf::from).chain([PathBuf::from("/usr/local/cuda")])
}
