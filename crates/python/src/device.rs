//! Where a launch runs: on the device of its arguments, for the target that `TEGULA_TARGET` names or else for the device's own.

use crate::arrays;
use crate::errors;
use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicPtr, Ordering};
use tegula_runtime::cuda::{Device, Stream, set_package_folders};
use tegula_runtime::{DiskCache, Error, Target};

/// Where an array is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Cpu,
    Cuda(u32),
}

/// As torch writes it.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Cpu => f.write_str("cpu"),
            Place::Cuda(device) => write!(f, "cuda:{device}"),
        }
    }
}

impl Place {
    /// Where a `torch.device` is, if kernels run there.
    pub fn of_torch_device(device: &Bound<'_, PyAny>) -> Option<Place> {
        let kind = device.getattr("type").ok()?;
        match kind.extract::<String>().ok()?.as_str() {
            "cpu" => Some(Place::Cpu),
            "cuda" => Some(Place::Cuda(device.getattr("index").ok()?.extract().unwrap_or(0))),
            _ => None,
        }
    }

    /// Where a tensor is whose memory is CUDA's; `device` asks the tensor, which takes time in every launch, and is called
    /// only where there is more than one device.
    pub fn of_cuda_tensor(device: impl FnOnce() -> PyResult<u32>) -> PyResult<Place> {
        match Device::count() {
            Ok(1) => Ok(Place::Cuda(0)),
            _ => device().map(Place::Cuda),
        }
    }

    /// Where an address that CUDA gave is; an empty array, which has none, is on the first device.
    pub fn of_address(address: u64) -> PyResult<Place> {
        if address == 0 {
            return Ok(Place::Cuda(0));
        }
        Device::of_address(address)
            .map(Place::Cuda)
            .map_err(|error| PyValueError::new_err(format!("its address is of no CUDA device: {error}")))
    }
}

/// What `TEGULA_TARGET` says; null if it is not set.
static FORCED: AtomicPtr<Target> = AtomicPtr::new(std::ptr::null_mut());

/// Compiles for a target (`"cpu"`, `"sm_80"`) in the place of the arguments' device's own; `None` undoes that.
#[pyfunction]
#[pyo3(signature = (target))]
pub fn set_target(target: Option<&str>) -> PyResult<()> {
    let target = match target {
        Some(text) => Some(
            text.parse()
                .map_err(|error: Error| PyValueError::new_err(format!("{}: {error}", Target::VARIABLE)))?,
        ),
        None => None,
    };
    // Each is kept for ever, since a launch may be looking at it; programs choose few.
    let target = target.map_or(std::ptr::null_mut(), |target| Box::into_raw(Box::new(target)));
    FORCED.store(target, Ordering::Release);
    Ok(())
}

/// The target that takes the place of the arguments' device's own, if there is one.
pub fn forced() -> Option<Target> {
    // SAFETY: it is null, or was made of a box that is never freed.
    unsafe { FORCED.load(Ordering::Acquire).as_ref() }.copied()
}

/// Refuses arrays that an interpreted kernel cannot reach.
pub fn check_interpreted(place: Option<Place>) -> PyResult<()> {
    match place {
        None | Some(Place::Cpu) => Ok(()),
        Some(place @ Place::Cuda(_)) => Err(PyValueError::new_err(format!(
            "interpreted kernels run on the CPU, and the arguments are on {place}; copy them to the CPU first"
        ))),
    }
}

/// Where a launch runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    Cpu,
    Cuda {
        device: u32,
        target: Target,
    },
    /// On the CPU, by the simulator.
    Simulated {
        target: Target,
    },
}

impl Placement {
    /// What the kernel is compiled for.
    pub fn target(self) -> Target {
        match self {
            Placement::Cpu => Target::Cpu,
            Placement::Cuda { target, .. } | Placement::Simulated { target } => target,
        }
    }
}

/// Whether a tensor on the CPU is a mistake: a GPU was chosen, or torch computes on one, and nobody has chosen the CPU.
pub fn expects_gpu_tensors(py: Python<'_>, forced: Option<Target>) -> PyResult<bool> {
    match forced {
        Some(target) => Ok(matches!(target, Target::Cuda(_))),
        None => arrays::torch_uses_cuda(py),
    }
}

/// Where a launch runs whose arrays are at `place`; without arrays, where torch would compute. `forced` is what [`forced`] says.
pub fn of_launch(py: Python<'_>, forced: Option<Target>, place: Option<Place>) -> PyResult<Placement> {
    let device = match place {
        Some(Place::Cpu) => match forced {
            None | Some(Target::Cpu) => return Ok(Placement::Cpu),
            Some(target @ Target::Simulated(_)) => return Ok(Placement::Simulated { target }),
            Some(Target::Cuda(gpu)) => {
                let message = format!("the arrays are on the cpu, but {} is {}", Target::VARIABLE, gpu.code);
                return Err(PyValueError::new_err(message));
            }
        },
        Some(Place::Cuda(device)) => device,
        None => match forced {
            Some(Target::Cpu) => return Ok(Placement::Cpu),
            Some(target @ Target::Simulated(_)) => return Ok(Placement::Simulated { target }),
            None | Some(Target::Cuda(_)) => match torch_device(py)? {
                Some(device) => device,
                None => return Ok(Placement::Cpu),
            },
        },
    };
    let own = || Ok(Device::get(device).map_err(Error::from)?.gpu());
    let gpu = match forced {
        Some(target @ (Target::Cpu | Target::Simulated(_))) => {
            let message = format!("the arrays are on cuda:{device}, but {} is {target}", Target::VARIABLE);
            return Err(PyValueError::new_err(message));
        }
        Some(Target::Cuda(gpu)) => own().and_then(|own| gpu.on(own)),
        None => own(),
    };
    match gpu {
        Ok(gpu) => Ok(Placement::Cuda { device, target: Target::Cuda(gpu) }),
        Err(error) => Err(errors::to_python(py, &error)),
    }
}

/// What a kernel is compiled for that is not launched yet: what `TEGULA_TARGET` says, even where there is no such device.
pub fn of_compilation(py: Python<'_>, place: Option<Place>) -> PyResult<Target> {
    match (forced(), place) {
        (Some(target), None | Some(Place::Cpu)) => Ok(target),
        (forced, _) => of_launch(py, forced, place).map(Placement::target),
    }
}

/// The device that torch computes on, if the program uses CUDA through torch.
pub fn torch_device(py: Python<'_>) -> PyResult<Option<u32>> {
    let modules = py.import("sys")?.getattr("modules")?;
    let Ok(cuda) = modules.get_item("torch.cuda") else { return Ok(None) };
    if !cuda.call_method0("is_initialized")?.is_truthy()? {
        return Ok(None);
    }
    cuda.call_method0("current_device")?.extract().map(Some)
}

/// The stream that torch would use on a device now; the default stream without torch.
pub fn current_stream(py: Python<'_>, device: u32) -> PyResult<Stream> {
    if let Some(exchange) = arrays::torch_exchange(py) {
        return exchange.current_stream(py, device).map(Stream);
    }
    static CURRENT: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let current = match CURRENT.get(py) {
        Some(current) => current,
        None => {
            let modules = py.import("sys")?.getattr("modules")?;
            // Without torch, or with one that has no CUDA; torch may yet be imported.
            let Ok(torch) = modules.get_item("torch._C") else { return Ok(Stream::default()) };
            let Ok(function) = torch.getattr(intern!(py, "_cuda_getCurrentRawStream")) else {
                return Ok(Stream::default());
            };
            CURRENT.get_or_init(py, || function.unbind())
        }
    };
    current.bind(py).call1((device,))?.extract().map(Stream)
}

/// The cache on disk for a target, unless `TRITON_ALWAYS_COMPILE=1`; programs for the CPU and for the simulator are not kept.
pub fn disk_cache(py: Python<'_>, target: Target) -> PyResult<Option<DiskCache>> {
    if !matches!(target, Target::Cuda(_)) {
        return Ok(None);
    }
    let folders: Vec<Bound<'_, PyAny>> = py.import("sys")?.getattr("path")?.extract()?;
    // What is no text names no folder.
    set_package_folders(|| folders.iter().filter_map(|folder| folder.extract::<PathBuf>().ok()).collect());
    let always = std::env::var_os("TRITON_ALWAYS_COMPILE").is_some_and(|value| value == "1");
    Ok(if always { None } else { DiskCache::from_environment() })
}

/// The folder of the cache on disk, `None` if there is nowhere to keep it.
#[pyfunction]
pub fn cache_folder() -> Option<PathBuf> {
    DiskCache::from_environment().map(|cache| cache.folder().to_owned())
}
