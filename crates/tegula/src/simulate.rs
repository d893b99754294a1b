//! Kernels in the simulator of GPUs, on arrays made for the purpose: `fp32[1000], fp32[1000], 1000` to a report.

use crate::argument::{Array, Kind};
use crate::error::Error;
use crate::kernel::Kernel;
use crate::launch::bind;
use tegula_ir::Scalar;
use tegula_runtime::{ArrayRange, Constant, LaunchOptions, Options, Schedule, SimulationReport, Target};

/// Bytes that every array begins at a multiple of, as those of GPUs do.
const ALIGNMENT: usize = 256;

/// What is simulated.
#[derive(Clone, Debug, Default)]
pub struct Simulation {
    /// The run-time arguments in order, separated by commas: an array as its type and extent, `fp32[1000]` or `fp16[64x64]`; or a
    /// number, `True`, `False` or `None`.
    ///
    /// Floats of arrays are random ones between -1 and 1, integers are zeros.
    pub arguments: String,
    /// The constexprs.
    pub constants: Vec<(String, Constant)>,
    pub grid: [u32; 3],
    pub options: Options,
    /// The order of warps: 0 runs each until it waits, others are random.
    pub seed: u64,
}

impl Kernel {
    /// Compiles the kernel for a GPU, runs it in the simulator, and reports what happened.
    ///
    /// # Errors
    /// [`Error::Signature`] if an argument cannot be read or the target is none that is simulated, [`Error::Call`] if the arguments do not fit the
    /// parameters, [`Error::Kernel`] if the kernel is ill-formed. What the simulator finds is in the report.
    pub fn simulate(&self, target: Target, simulation: &Simulation) -> Result<SimulationReport, Error> {
        let (Target::Cuda(gpu) | Target::Simulated(gpu)) = target else {
            return Err(Error::Signature(format!("{target} is not simulated: name a GPU, such as sm_90")));
        };
        let mut arrays = Vec::new();
        let entries = simulation.arguments.split(',').map(str::trim).filter(|entry| !entry.is_empty());
        let given =
            entries.map(|entry| argument(entry, &mut arrays)).collect::<Result<Vec<Kind>, Error>>()?;
        // Those that are no constexprs come in order, whatever lies between.
        let mut given = given.into_iter();
        let named = |(name, constant): &(String, Constant)| (name.clone(), Kind::Constant(constant.clone()));
        let mut named: Vec<(String, Kind)> = simulation.constants.iter().map(named).collect();
        for parameter in self.parameters() {
            if !parameter.is_constexpr && named.iter().all(|(name, _)| *name != parameter.name) {
                named.extend(given.next().map(|argument| (parameter.name.clone(), argument)));
            }
        }
        if given.next().is_some() {
            return Err(
                self.call_error(format!("there are more arguments than parameters: {}", self.listed()))
            );
        }
        let bound = bind(self, Vec::new(), named)?;
        let mut leaves = Vec::new();
        let specialisations = bound
            .iter()
            .map(|argument| argument.specialise(&mut leaves))
            .collect::<Result<Vec<_>, tegula_runtime::Error>>()?;
        let executable =
            self.executable_for(&specialisations, Target::Simulated(gpu), &simulation.options)?;
        let range = |(parameter, argument): (&crate::Parameter, &Kind)| match argument {
            Kind::Array(Array { address, bytes, .. }) => Some(ArrayRange {
                name: parameter.name.clone(),
                address: *address,
                bytes: *bytes,
                writable: true,
            }),
            _ => None,
        };
        let bounds = self.parameters().iter().zip(&bound).filter_map(range).collect();
        let options = LaunchOptions { bounds: Some(bounds), ..LaunchOptions::default() };
        let schedule = Schedule { seed: simulation.seed, instruction_limit: None };
        // SAFETY: the simulator checks every access against the arrays, which live until the end.
        Ok(unsafe { executable.simulate(simulation.grid, &leaves, &options, schedule) }?)
    }
}

/// Reads one argument; an array's memory is added to `arrays`.
fn argument(entry: &str, arrays: &mut Vec<Vec<u8>>) -> Result<Kind, Error> {
    let fault = || {
        Error::Signature(format!(
            "`{entry}` is no argument: an array is its type and extent, such as fp32[1000] or fp16[64x64]; else a number, True, False or None"
        ))
    };
    let Some((ty, extents)) = entry.split_once('[') else {
        return Ok(match entry {
            "True" => Kind::Bool(true),
            "False" => Kind::Bool(false),
            "None" => Kind::Constant(Constant::None),
            _ => match entry.parse::<i128>() {
                Ok(integer) => Kind::Int(integer, None),
                Err(_) => Kind::Float32(entry.parse().map_err(|_| fault())?),
            },
        });
    };
    let element = Scalar::from_name(ty.trim()).ok_or_else(fault)?;
    let extents = extents.strip_suffix(']').ok_or_else(fault)?;
    let mut elements = 1usize;
    for extent in extents.split('x') {
        let extent: usize = extent.trim().parse().map_err(|_| fault())?;
        elements = elements.checked_mul(extent).filter(|&count| count < 1 << 32).ok_or_else(fault)?;
    }
    let bytes = elements * element.bytes() as usize;
    let mut memory = vec![0u8; bytes + ALIGNMENT];
    let skip = memory.as_ptr().align_offset(ALIGNMENT).min(ALIGNMENT);
    fill(&mut memory[skip..skip + bytes], element, arrays.len() as u64);
    let address = memory[skip..].as_mut_ptr().expose_provenance();
    arrays.push(memory);
    Ok(Kind::Array(Array { address, bytes, element, writable: true }))
}

/// Random floats between -1 and 1; integers stay zero, so that they are indices of anything.
fn fill(memory: &mut [u8], element: Scalar, seed: u64) {
    let mut state = seed + 1;
    let mut next = || {
        // The generator of Knuth's MMIX.
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1 << 23) as f32 - 1.0
    };
    match element {
        Scalar::Float64 => {
            memory.chunks_exact_mut(8).for_each(|x| x.copy_from_slice(&f64::from(next()).to_le_bytes()))
        }
        Scalar::Float32 => memory.chunks_exact_mut(4).for_each(|x| x.copy_from_slice(&next().to_le_bytes())),
        Scalar::Float16 => {
            memory
                .chunks_exact_mut(2)
                .for_each(|x| x.copy_from_slice(&half::f16::from_f32(next()).to_le_bytes()));
        }
        Scalar::BFloat16 => {
            memory
                .chunks_exact_mut(2)
                .for_each(|x| x.copy_from_slice(&half::bf16::from_f32(next()).to_le_bytes()));
        }
        _ => {}
    }
}
