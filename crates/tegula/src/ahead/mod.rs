//! Kernels compiled ahead of time: machine code for GPUs, with launchers for programs that have no compiler at hand.
//!
//! ```text
//! scale(x_ptr: *fp32:16, factor: fp32, n: i32), BLOCK = 256, for sm_80 and sm_90
//!     => scale.sm_80.cubin, scale.sm_90a.cubin       machine code
//!        scale.h     scale_load, scale_launch, scale_unload        for C and C++, over the CUDA driver
//!        scale.rs    Scale::load, Scale::launch                    for Rust, over the crate cudarc
//! ```

mod c_header;
mod identifier;
mod rust_module;

use crate::error::Error;
use crate::kernel::Kernel;
use crate::signature::Signature;
use tegula_ir::{Element, Scalar};
use tegula_runtime::cuda::Code;
use tegula_runtime::{Options, Target};

/// Bytes of shared memory that a kernel may have without asking the driver for more.
const SHARED_WITHOUT_ASKING: u32 = 48 * 1024;

/// A kernel's machine code for some GPUs, and what a launcher must know.
#[derive(Clone, Debug)]
pub struct Ahead {
    /// What the launchers are called after.
    name: String,
    /// Where the kernel came from, for the comments of the files.
    origin: String,
    parameters: Vec<Argument>,
    codes: Vec<Machine>,
}

/// A run-time argument of the launchers.
#[derive(Clone, Debug)]
struct Argument {
    name: String,
    kind: Kind,
    /// The argument must be a multiple of this.
    divisible_by: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Pointer,
    Scalar(Scalar),
}

/// Machine code for one architecture.
#[derive(Clone, Debug)]
struct Machine {
    /// As in the names of files: `sm_90a`.
    target: String,
    /// The compute capability, ten times its major part and its minor part.
    architecture: u32,
    /// Whether GPUs of later minor parts cannot run it.
    specific: bool,
    code: Code,
}

impl Ahead {
    /// Compiles a kernel for targets, all of which must be GPUs.
    ///
    /// # Errors
    /// Those of [`Kernel::compile`] and [`crate::Compiled::cubin`]; [`Error::Signature`] for the CPU, and without a target.
    pub fn new(
        kernel: &Kernel,
        signature: &Signature,
        targets: &[Target],
        options: &Options,
    ) -> Result<Ahead, Error> {
        let mut ahead = Ahead {
            name: kernel.name().to_owned(),
            origin: kernel.listed(),
            parameters: Vec::new(),
            codes: Vec::new(),
        };
        // Launchers of other languages pass the kernel's own arguments, and no tensor maps.
        let options = Options { bulk_copies: false, ..*options };
        for &target in targets {
            let compiled = kernel.compile(signature, target, &options)?;
            let (Target::Cuda(gpu), Some(code)) = (target, compiled.code()?) else {
                let message =
                    format!("code is made ahead of time for GPUs, such as sm_90, and not for {target}");
                return Err(Error::Signature(message));
            };
            ahead.parameters = compiled.parameters().iter().map(Argument::new).collect();
            let specific = gpu.machine.to_string().ends_with(|suffix: char| suffix.is_ascii_alphabetic());
            let architecture = gpu.machine.architecture;
            ahead.codes.push(Machine { target: gpu.machine.to_string(), architecture, specific, code });
        }
        if ahead.codes.is_empty() {
            return Err(Error::Signature("no target is given, such as sm_90".to_owned()));
        }
        // The first that fits is taken, and what is nearest to the device is best.
        ahead.codes.sort_by_key(|machine| std::cmp::Reverse((machine.architecture, machine.specific)));
        Ok(ahead)
    }

    /// Calls the launchers after another name than the kernel's: several variants of a kernel may be in one program.
    ///
    /// # Errors
    /// [`Error::Signature`] for what is no name in C and Rust.
    pub fn renamed(mut self, name: &str) -> Result<Ahead, Error> {
        if !identifier::is_plain(name) {
            return Err(Error::Signature(format!("`{name}` is no name of a function in C and Rust")));
        }
        name.clone_into(&mut self.name);
        Ok(self)
    }

    /// The machine code of each target, with the name of its file.
    pub fn cubins(&self) -> impl Iterator<Item = (String, &[u8])> {
        self.codes.iter().map(|machine| (self.cubin_name(machine), machine.code.cubin.as_slice()))
    }

    /// A header for C and C++ that holds the machine code and its launchers; its file is `NAME.h`.
    pub fn c_header(&self) -> String {
        c_header::write(self)
    }

    /// A module for Rust with the launchers; its file is `NAME.rs`, beside those of the machine code.
    pub fn rust_module(&self) -> String {
        rust_module::write(self)
    }

    /// What the launchers are called after.
    pub fn name(&self) -> &str {
        &self.name
    }

    fn cubin_name(&self, machine: &Machine) -> String {
        format!("{}.{}.cubin", self.name, machine.target)
    }

    /// The targets in words.
    fn targets(&self) -> String {
        let targets: Vec<&str> = self.codes.iter().map(|machine| machine.target.as_str()).collect();
        targets.join(", ")
    }

    /// Whether some code needs more shared memory than the driver gives unasked.
    fn asks_for_shared_memory(&self) -> bool {
        self.codes.iter().any(|machine| machine.code.shared_bytes > SHARED_WITHOUT_ASKING)
    }
}

impl Machine {
    /// Threads of a block.
    fn threads(&self) -> u32 {
        32 * self.code.num_warps
    }
}

impl Argument {
    fn new(parameter: &tegula_ir::Param) -> Argument {
        let kind = match parameter.ty.element {
            Element::Scalar(scalar) => Kind::Scalar(scalar),
            Element::Pointer(_) => Kind::Pointer,
        };
        Argument { name: parameter.name.clone(), kind, divisible_by: parameter.divisible_by }
    }
}
