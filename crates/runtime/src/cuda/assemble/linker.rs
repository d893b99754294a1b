//! The driver's own assembler. It holds one lock, so kernels are assembled one after another.

use super::{Assembled, Failure, Job, Report};
use crate::cuda::Device;
use crate::cuda::driver::{DriverError, check};
use cudarc::driver::sys::{self, CUjit_option as Choice, CUjitInputType, CUlinkState};
use std::ffi::{CStr, c_void};

/// Bytes for each of the two logs.
const LOG_BYTES: usize = 16 * 1024;

/// Machine code of PTX, for the first device: its kind decides the architecture.
///
/// # Errors
/// [`Failure::Refused`] with the log, if there is a device of the architecture that is asked for; else
/// [`Failure::Unavailable`].
pub fn assemble(job: &Job<'_>) -> Result<Assembled, Failure> {
    let device = Device::get(0).map_err(|error| {
        Failure::Unavailable(format!(
            "there is nothing that assembles PTX: neither nvJitLink nor ptxas is found (the packages nvidia-nvjitlink \
             and nvidia-cuda-nvcc of PyPI have them, TEGULA_PTXAS names one), and {error}"
        ))
    })?;
    if device.gpu().machine != job.machine {
        let message = format!(
            "neither nvJitLink nor ptxas is found, and the driver assembles for {} alone, not for {}",
            device.gpu().machine,
            job.machine
        );
        return Err(Failure::Unavailable(message));
    }
    let mut errors = vec![0u8; LOG_BYTES];
    let mut notes = vec![0u8; LOG_BYTES];
    let mut choices = vec![
        (Choice::CU_JIT_ERROR_LOG_BUFFER, errors.as_mut_ptr() as usize),
        (Choice::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, LOG_BYTES),
        (Choice::CU_JIT_INFO_LOG_BUFFER, notes.as_mut_ptr() as usize),
        (Choice::CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, LOG_BYTES),
        (Choice::CU_JIT_LOG_VERBOSE, 1),
        (Choice::CU_JIT_GENERATE_LINE_INFO, 1),
    ];
    if let Some(registers) = job.max_registers {
        choices.push((Choice::CU_JIT_MAX_REGISTERS, registers as usize));
    }
    let cubin = device.with_context(|| link(job.ptx, &choices));
    let text = |log: &[u8]| {
        CStr::from_bytes_until_nul(log).map_or_else(|_| String::new(), |text| text.to_string_lossy().into())
    };
    match cubin {
        Ok(cubin) => Ok(Assembled { cubin, report: Report::parse(&text(&notes)) }),
        Err(error) => Err(Failure::Refused(format!("{error}\n{}", text(&errors)))),
    }
}

/// Links one module, with options and their values; sizes are passed in the place of addresses.
fn link(ptx: &str, choices: &[(Choice, usize)]) -> Result<Vec<u8>, DriverError> {
    let (mut names, mut values): (Vec<Choice>, Vec<*mut c_void>) =
        choices.iter().map(|&(name, value)| (name, value as *mut c_void)).unzip();
    let mut text = ptx.as_bytes().to_vec();
    text.push(0);
    let mut state: CUlinkState = std::ptr::null_mut();
    // SAFETY: a context is current; options, values and the buffers that they name outlive the state.
    unsafe {
        let count = names.len() as u32;
        let created = sys::cuLinkCreate_v2(count, names.as_mut_ptr(), values.as_mut_ptr(), &mut state);
        check(created, "start its assembler")?;
        let added = sys::cuLinkAddData_v2(
            state,
            CUjitInputType::CU_JIT_INPUT_PTX,
            text.as_mut_ptr().cast(),
            text.len(),
            c"kernel".as_ptr(),
            0,
            std::ptr::null_mut(),
            std::ptr::null_mut(),
        );
        let (mut image, mut size) = (std::ptr::null_mut(), 0);
        let outcome = check(added, "assemble the PTX").and_then(|()| {
            check(sys::cuLinkComplete(state, &mut image, &mut size), "assemble the PTX")?;
            // The image belongs to the state.
            Ok(std::slice::from_raw_parts(image.cast::<u8>(), size).to_vec())
        });
        sys::cuLinkDestroy(state);
        outcome
    }
}
