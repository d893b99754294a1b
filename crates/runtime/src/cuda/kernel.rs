//! A kernel compiled for a GPU: from the intermediate representation, or from the cache on disk, to launches.

use super::assemble::ptxas::Ptxas;
use super::assemble::{Assembler, Failure, Job, Report};
use super::device::{DEVICES, Device};
use super::driver::DriverError;
use super::module::{Module, Stream};
use super::scheduling::Scheduling;
use super::tensor_map::TensorMaps;
use super::user_text;
use crate::disk_cache::{DiskCache, Entry, Key};
use crate::error::Error;
use crate::options::Options;
use crate::target::Gpu;
use crate::versions::Versions;
use std::str::FromStr;
use std::sync::{Arc, OnceLock};
use tegula_gpu::{Condition, TensorMap};
use tegula_ir::{FileId, Function, SourceMap};

/// Which compiler made an entry of the cache: its version and its sources.
const COMPILER: &str = concat!(env!("CARGO_PKG_VERSION"), " ", env!("TEGULA_SOURCES"));

/// The largest extents of a grid (CUDA C++ Programming Guide, technical specifications).
const GRID_LIMITS: [u32; 3] = [i32::MAX as u32, 65_535, 65_535];

/// A kernel's PTX and machine code, with what is known of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Code {
    /// The name of the entry.
    pub name: String,
    pub ptx: String,
    pub cubin: Vec<u8>,
    /// The layout of every block, for people.
    pub layouts: String,
    /// Bytes of dynamic shared memory.
    pub shared_bytes: u32,
    /// Warps of one program.
    pub num_warps: u32,
    /// The tensor maps that the entry takes after its parameters.
    pub tensor_maps: Vec<TensorMap>,
    /// What must hold of the arguments of a launch.
    pub conditions: Vec<Condition>,
    pub report: Report,
}

/// A kernel that launches on GPUs.
#[derive(Debug)]
pub struct CudaKernel {
    code: Code,
    gpu: Gpu,
    scheduling: Scheduling,
    /// How many words a launch takes.
    arguments: usize,
    maps: TensorMaps,
    /// Those for arguments that have no tensor maps.
    versions: Versions<CudaKernel>,
    cache: Option<DiskCache>,
    /// The code on each device, loaded at the first launch there.
    modules: Box<[OnceLock<Module>]>,
}

impl CudaKernel {
    /// Compiles an optimised function; with `cache`, unless that has it already.
    ///
    /// # Errors
    /// Those of [`Generated::new`] and [`Generated::assemble`].
    pub fn compile(
        function: &Arc<Function>,
        gpu: Gpu,
        options: &Options,
        cache: Option<&DiskCache>,
    ) -> Result<CudaKernel, Error> {
        let code = match cache {
            None => Generated::new(function, gpu, options)?.assemble()?,
            Some(cache) => {
                let key = key(function, gpu, options);
                match cache.read(&key).and_then(|entry| Code::from_entry(&entry)) {
                    Some(code) => code,
                    None => {
                        let code = Generated::new(function, gpu, options)?.assemble()?;
                        // Without a cache, the next process compiles anew: slower, but as right.
                        let _ = cache.write(&key, &code.to_entry());
                        code
                    }
                }
            }
        };
        let modules = (0..DEVICES).map(|_| OnceLock::new()).collect();
        let scheduling = Scheduling::new(options, gpu);
        let maps = TensorMaps::new(function, code.tensor_maps.clone(), code.conditions.clone());
        let versions = Versions::new(function, options, maps.plan());
        let (arguments, cache) = (function.params.len(), cache.cloned());
        Ok(CudaKernel { code, gpu, scheduling, arguments, maps, versions, cache, modules })
    }

    /// The code and what is known of it.
    pub fn code(&self) -> &Code {
        &self.code
    }

    /// What it was compiled for.
    pub fn gpu(&self) -> Gpu {
        self.gpu
    }

    /// Queues a launch on a stream of a device; a grid with an extent of 0 launches nothing.
    ///
    /// # Errors
    /// [`Error::ArgumentCount`], [`Error::Grid`] if the grid has too many programs along an axis, [`Error::OutOfResources`] on the first launch on
    /// the device, and [`Error::Driver`].
    ///
    /// # Safety
    /// As for [`Module::launch`].
    pub unsafe fn launch(
        &self,
        device: u32,
        stream: Stream,
        grid: [u32; 3],
        arguments: &[u64],
    ) -> Result<(), Error> {
        if arguments.len() != self.arguments {
            return Err(Error::ArgumentCount { expected: self.arguments, given: arguments.len() });
        }
        if grid.contains(&0) {
            return Ok(());
        }
        if let Some(axis) = (0..3).find(|&axis| grid[axis] > GRID_LIMITS[axis]) {
            return Err(Error::Grid { axis, extent: grid[axis], limit: GRID_LIMITS[axis] });
        }
        let maps = if self.maps.is_empty() { None } else { self.maps.of(arguments) };
        if maps.is_none() && !self.maps.is_empty() {
            let compile = |function: &_, options: &_| {
                CudaKernel::compile(function, self.gpu, options, self.cache.as_ref())
            };
            let version = self.versions.of(arguments, compile)?;
            // SAFETY: as for this version, which takes the same arguments.
            return unsafe { version.launch(device, stream, grid, arguments) };
        }
        let maps = maps.as_deref().unwrap_or_default();
        let module = self.module(device)?;
        // SAFETY: the caller vouches for the addresses and for the stream; the number of arguments is right.
        Ok(unsafe { module.launch(grid, stream, self.scheduling, arguments, maps) }?)
    }

    /// Loads the code on a device, unless it is there already.
    ///
    /// # Errors
    /// As for [`Module::load`].
    pub fn module(&self, device: u32) -> Result<&Module, Error> {
        let place = self.modules.get(device as usize).ok_or(DriverError::TooMany(device))?;
        if let Some(module) = place.get() {
            return Ok(module);
        }
        let Code { name, cubin, num_warps, shared_bytes, .. } = &self.code;
        let module = Module::load(Device::get(device)?, cubin, name, *num_warps, *shared_bytes)?;
        Ok(place.get_or_init(|| module))
    }
}

/// Everything that the code depends on.
fn key(function: &Function, gpu: Gpu, options: &Options) -> Key {
    let text = function.to_string();
    // Every assembler makes right code, but one that the user names is wanted.
    let assembler = std::env::var_os(Ptxas::VARIABLE);
    let target = format!("{} {} {:?} {assembler:?}", gpu.code, gpu.machine, options.of_code());
    // The code names lines of the sources, so these count, too.
    let sources: Vec<String> = (0..)
        .map_while(|number| function.sources.get(FileId(number)))
        .map(|file| format!("{}\n{}\n{}", file.name, file.first_line, file.text))
        .collect();
    let parts = [COMPILER, &target, &text].into_iter().chain(sources.iter().map(String::as_str));
    Key::of(parts.map(str::as_bytes))
}

/// A kernel in PTX, before it is assembled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Generated {
    /// What the back end made.
    pub kernel: tegula_gpu::Kernel,
    gpu: Gpu,
    max_registers: Option<u32>,
    sources: SourceMap,
}

impl Generated {
    /// Compiles an optimised function to PTX. Needs neither a GPU nor anything of CUDA.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the function does what GPUs cannot.
    pub fn new(function: &Function, gpu: Gpu, options: &Options) -> Result<Generated, Error> {
        let for_back_end = tegula_gpu::Options {
            num_warps: options.num_warps,
            num_stages: options.num_stages,
            max_registers: options.maxnreg,
            contracts: options.contracts,
            bulk_copies: options.bulk_copies,
            line_info: true,
        };
        match tegula_gpu::compile(function, gpu.code, &for_back_end) {
            Ok(kernel) => {
                let sources = function.sources.clone();
                Ok(Generated { kernel, gpu, max_registers: options.maxnreg, sources })
            }
            Err(diagnostic) => {
                Err(Error::Unsupported { diagnostic, sources: Box::new(function.sources.clone()) })
            }
        }
    }

    /// Whether a program has as much shared memory as it needs.
    ///
    /// # Errors
    /// [`Error::OutOfResources`] if not.
    pub fn check_shared_memory(&self) -> Result<(), Error> {
        let (needed, available) = (self.kernel.shared_bytes, self.gpu.shared_memory_limit());
        if needed > available {
            return Err(Error::shared_memory(&self.kernel.name, needed, available));
        }
        Ok(())
    }

    /// Makes machine code of the PTX.
    ///
    /// # Errors
    /// [`Error::OutOfResources`] if one program needs more shared memory than there is; [`Error::Unsupported`] if the assembler refuses
    /// inline assembly of the kernel, [`Error::Assembler`] if it refuses anything else; [`Error::NoAssembler`].
    pub fn assemble(self) -> Result<Code, Error> {
        // Known before the assembler spends its time; autotuning passes over such configurations quickly.
        self.check_shared_memory()?;
        let Generated { mut kernel, gpu, max_registers, sources } = self;
        let assembler = Assembler::get();
        let assemble = |kernel: &tegula_gpu::Kernel| {
            let job = Job { ptx: &kernel.ptx, machine: gpu.machine, max_registers };
            assembler.assemble(&job).map_err(|failure| match failure {
                Failure::Refused(log) => match user_text::fault(kernel, &assembler.to_string(), &log) {
                    Some(fault) => {
                        Error::Unsupported { diagnostic: Box::new(fault), sources: Box::new(sources.clone()) }
                    }
                    None => Error::Assembler {
                        kernel: kernel.name.clone(),
                        assembler: assembler.to_string(),
                        log,
                    },
                },
                Failure::Unavailable(reason) => Error::NoAssembler { kernel: kernel.name.clone(), reason },
            })
        };
        let mut assembled = assemble(&kernel)?;
        // Registers that overflow to memory cost more than further programs bring.
        let spills = assembled.report.spilled_bytes != Some(0);
        if kernel.resident.is_some() && spills {
            kernel = kernel.with_free_registers();
            assembled = assemble(&kernel)?;
        }
        Ok(Code {
            name: kernel.name,
            ptx: kernel.ptx,
            cubin: assembled.cubin,
            layouts: kernel.layouts,
            shared_bytes: kernel.shared_bytes,
            num_warps: kernel.num_warps,
            tensor_maps: kernel.tensor_maps,
            conditions: kernel.conditions,
            report: assembled.report,
        })
    }
}

impl Code {
    fn to_entry(&self) -> Entry {
        let mut entry = Entry::default();
        entry.insert("name", self.name.as_str());
        entry.insert("ptx", self.ptx.as_str());
        entry.insert("cubin", self.cubin.as_slice());
        entry.insert("layouts", self.layouts.as_str());
        let mut number = |name: &str, value: Option<u32>| {
            if let Some(value) = value {
                entry.insert(name, value.to_le_bytes());
            }
        };
        number("shared_bytes", Some(self.shared_bytes));
        number("num_warps", Some(self.num_warps));
        number("registers", self.report.registers);
        number("spilled_bytes", self.report.spilled_bytes);
        entry.insert("tensor_maps", lines(&self.tensor_maps).as_str());
        entry.insert("conditions", lines(&self.conditions).as_str());
        entry
    }

    fn from_entry(entry: &Entry) -> Option<Code> {
        let text = |name: &str| String::from_utf8(entry.get(name)?.to_vec()).ok();
        let number = |name: &str| Some(u32::from_le_bytes(entry.get(name)?.try_into().ok()?));
        Some(Code {
            name: text("name")?,
            ptx: text("ptx")?,
            cubin: entry.get("cubin")?.to_vec(),
            layouts: text("layouts")?,
            shared_bytes: number("shared_bytes")?,
            num_warps: number("num_warps")?,
            tensor_maps: parsed(&text("tensor_maps")?)?,
            conditions: parsed(&text("conditions")?)?,
            report: Report { registers: number("registers"), spilled_bytes: number("spilled_bytes") },
        })
    }
}

/// Items as text, a line each.
fn lines<T: ToString>(items: &[T]) -> String {
    let lines: Vec<String> = items.iter().map(T::to_string).collect();
    lines.join("\n")
}

fn parsed<T: FromStr>(text: &str) -> Option<Vec<T>> {
    text.lines().map(|line| line.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::{Code, key};
    use crate::cuda::assemble::Report;
    use crate::options::Options;
    use crate::target::Gpu;
    use tegula_ir::Function;

    #[test]
    fn entries_keep_what_is_known_and_what_is_not() {
        for report in [
            Report { registers: Some(40), spilled_bytes: Some(0) },
            Report { registers: None, spilled_bytes: None },
        ] {
            let code = Code {
                name: "kernel".into(),
                ptx: ".version 8.0".into(),
                cubin: vec![0x7f, b'E', 0, 255],
                layouts: String::new(),
                shared_bytes: 70_000,
                num_warps: 8,
                tensor_maps: vec!["0 bf16 1*5 - 1*6 64 128 128".parse().expect("it is a map")],
                conditions: vec!["1*3 128".parse().expect("it is a condition")],
                report,
            };
            assert_eq!(Code::from_entry(&code.to_entry()), Some(code));
        }
        assert_eq!(Code::from_entry(&Default::default()), None);
    }

    #[test]
    fn keys_differ_where_the_code_would() {
        let function = |text: &str| Function::parse(text).unwrap();
        let empty = function("kernel @a(%x: i32) {\n}");
        let aligned = function("kernel @a(%x: i32 {divisible 16}) {\n}");
        let [ampere, hopper] = [(8, 0), (9, 0)].map(Gpu::of_capability);
        let options = Options::default();
        let wide = Options { num_warps: 8, ..options };
        let keys = [
            key(&empty, hopper, &options),
            key(&aligned, hopper, &options),
            key(&empty, ampere, &options),
            key(&empty, ampere.on(hopper).unwrap(), &options),
            key(&empty, hopper, &wide),
        ];
        let cooperative = Options { cooperative: true, num_ctas: 2, ..options };
        assert_eq!(key(&empty, hopper, &cooperative), keys[0], "what changes launches alone");
        for (index, one) in keys.iter().enumerate() {
            assert!(!keys[..index].contains(one), "{index}");
        }
        assert_eq!(key(&empty, hopper, &options), keys[0]);
    }
}
