//! What kernels are compiled for.

use crate::error::Error;
use crate::options::Options;
use std::fmt;
use std::str::FromStr;
use tegula_frontend::Machine;
use tegula_ptx::{Features, Target as Architecture};

/// A machine to compile for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Target {
    /// The processor that this process runs on.
    #[default]
    Cpu,
    /// An NVIDIA GPU.
    Cuda(Gpu),
    /// An NVIDIA GPU that is simulated on the CPU, with the CPU's memory.
    Simulated(Gpu),
}

/// What a kernel for a GPU may use, and where it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Gpu {
    /// The architecture whose instructions the kernel may use: the `.target` of its PTX.
    pub code: Architecture,
    /// The architecture whose machine code is made of it: the same, or a newer one.
    pub machine: Architecture,
}

impl Gpu {
    /// The oldest architecture that there is code for.
    const OLDEST: u32 = 80;

    /// The architecture with all its features, for GPUs of its own kind.
    fn new(architecture: u32) -> Gpu {
        // The first with features that later ones do not keep.
        const FIRST_SPECIFIC: u32 = 90;
        let code = match architecture {
            FIRST_SPECIFIC.. => Architecture::specific(architecture),
            _ => Architecture::portable(architecture),
        };
        Gpu { code, machine: code }
    }

    /// What a GPU of this compute capability can do.
    pub fn of_capability((major, minor): (u32, u32)) -> Gpu {
        Gpu::new(10 * major + minor)
    }

    /// The same code, to run on `machine`.
    ///
    /// # Errors
    /// [`Error::Option`] if it cannot run there.
    pub fn on(self, machine: Gpu) -> Result<Gpu, Error> {
        let (code, machine) = (self.code, machine.machine);
        let runs = match code.features {
            Features::Portable => code.architecture <= machine.architecture,
            Features::Specific => code.architecture == machine.architecture,
        };
        if !runs {
            return Err(Error::Option(format!(
                "code for {code} does not run on a GPU of {machine}; {} names the target",
                Target::VARIABLE
            )));
        }
        Ok(Gpu { code, machine })
    }

    /// The most bytes of shared memory that one program may have (CUDA C++ Programming Guide, technical specifications).
    pub fn shared_memory_limit(self) -> u32 {
        let kilobytes = match self.machine.architecture {
            80 | 87 => 163,
            86 | 89 | 120..130 => 99,
            _ => 227,
        };
        kilobytes * 1024
    }
}

impl Target {
    /// The environment variable that names the target in the place of what the arguments' device suggests.
    pub const VARIABLE: &str = "TEGULA_TARGET";

    /// What a kernel compiled for it may ask.
    pub fn machine(self, options: &Options) -> Machine {
        match self {
            Target::Cpu => Machine::Cpu,
            Target::Cuda(gpu) | Target::Simulated(gpu) => {
                Machine::Cuda { architecture: gpu.code.architecture, num_warps: options.num_warps }
            }
        }
    }

    /// What `TEGULA_TARGET` says, if it is set.
    ///
    /// # Errors
    /// [`Error::Option`] if it names no target.
    pub fn from_environment() -> Result<Option<Target>, Error> {
        match std::env::var(Target::VARIABLE) {
            Ok(text) if !text.is_empty() => text.parse().map(Some),
            _ => Ok(None),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::Cpu => f.write_str("cpu"),
            Target::Cuda(gpu) => gpu.code.fmt(f),
            Target::Simulated(gpu) => write!(f, "{SIMULATED}{}", gpu.code),
        }
    }
}

/// What precedes a GPU that is simulated.
const SIMULATED: &str = "sim:";

/// Reads `cpu`, `sm_80`, `sm_90`, `sim:sm_90`. From `sm_90` on, the features of the architecture alone (`sm_90a`) are meant, too.
impl FromStr for Target {
    type Err = Error;

    fn from_str(text: &str) -> Result<Target, Error> {
        if text == "cpu" {
            return Ok(Target::Cpu);
        }
        if let Some(simulated) = text.strip_prefix(SIMULATED) {
            return match simulated.parse()? {
                Target::Cuda(gpu) => Ok(Target::Simulated(gpu)),
                _ => Err(Error::Option(format!("`{text}` names no GPU to simulate; `sim:sm_80` does, say"))),
            };
        }
        let gpu = Architecture::from_text(text).map(|found| Gpu::new(found.architecture));
        match gpu {
            Some(gpu) if gpu.code.architecture < Gpu::OLDEST => Err(Error::Option(format!(
                "the target `{text}` is older than sm_{}, the oldest that kernels are compiled for",
                Gpu::OLDEST
            ))),
            Some(gpu) => Ok(Target::Cuda(gpu)),
            None => Err(Error::Option(format!(
                "`{text}` is no target; there are `cpu`, GPUs (`sm_80`, `sm_86`, `sm_89`, `sm_90` and newer), and GPUs that are \
                 simulated (`sim:sm_90`)"
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Gpu, Target};

    #[test]
    fn targets_read_back_what_they_print() {
        for text in
            ["cpu", "sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_120a", "sim:sm_80", "sim:sm_90a"]
        {
            assert_eq!(text.parse::<Target>().unwrap().to_string(), text);
        }
        assert_eq!("sm_90".parse::<Target>().unwrap().to_string(), "sm_90a");
    }

    #[test]
    fn refusals_name_what_there_is() {
        for text in ["gpu", "sm_", "sm_9x", "cuda", "90", "sim:cpu"] {
            let message = text.parse::<Target>().unwrap_err().to_string();
            assert!(message.contains(text) && message.contains("sm_80"), "{message}");
        }
        assert!("sm_75".parse::<Target>().unwrap_err().to_string().contains("older"));
    }

    #[test]
    fn older_code_runs_on_newer_machines_alone() {
        let [ampere, ada, hopper] = [(8, 0), (8, 9), (9, 0)].map(Gpu::of_capability);
        let forced = ampere.on(hopper).unwrap();
        assert_eq!((forced.code.to_string(), forced.machine.to_string()), ("sm_80".into(), "sm_90a".into()));
        assert_eq!(forced.shared_memory_limit(), 227 * 1024);
        assert_eq!(hopper.on(hopper).unwrap(), hopper);
        assert!(ada.on(ampere).unwrap_err().to_string().contains("TEGULA_TARGET"));
        assert!(hopper.on(Gpu::of_capability((12, 0))).is_err());
    }
}
