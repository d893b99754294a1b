//! The CUDA driver, loaded when it is first needed, and its errors.

use super::device::DEVICES;
use cudarc::driver::sys::{self, CUresult};
use std::ffi::CStr;
use std::sync::OnceLock;
use thiserror::Error as ThisError;

/// The oldest release whose driver has every function that is called here.
const OLDEST_RELEASE: i32 = 12_000;

/// What the driver did not do, and its reason.
#[derive(Clone, Debug, PartialEq, Eq, ThisError)]
pub enum DriverError {
    /// A call that failed.
    #[error("the CUDA driver cannot {what}: {name} ({text})")]
    Call { what: &'static str, name: String, text: String },
    /// There are more devices than are served.
    #[error("cuda:{0} is beyond the {DEVICES} devices that are served")]
    TooMany(u32),
    /// There is no driver, or one that is too old.
    #[error("{0}")]
    Absent(String),
}

/// Turns the status of a call into a result; `what` completes "the driver cannot ...".
pub(crate) fn check(status: CUresult, what: &'static str) -> Result<(), DriverError> {
    if status == CUresult::CUDA_SUCCESS {
        return Ok(());
    }
    // SAFETY: both calls write the address of a static string, or leave it null.
    let say = |call: unsafe fn(CUresult, *mut *const std::ffi::c_char) -> CUresult| unsafe {
        let mut text = std::ptr::null();
        call(status, &mut text);
        match text.is_null() {
            true => String::new(),
            false => CStr::from_ptr(text).to_string_lossy().into_owned(),
        }
    };
    Err(DriverError::Call { what, name: say(sys::cuGetErrorName), text: say(sys::cuGetErrorString) })
}

/// Loads and initialises the driver, once.
///
/// # Errors
/// [`DriverError`] if there is no driver, no device, or a driver that is too old; the reason is remembered.
pub fn initialise() -> Result<(), DriverError> {
    static OUTCOME: OnceLock<Result<(), DriverError>> = OnceLock::new();
    OUTCOME
        .get_or_init(|| {
            // SAFETY: loading NVIDIA's library has no preconditions.
            if !unsafe { sys::is_culib_present() } {
                return Err(DriverError::Absent("no CUDA driver (libcuda) is installed".to_owned()));
            }
            let mut release = 0;
            // SAFETY: `cuInit` may be called at any time; the other writes to the place given.
            unsafe {
                check(sys::cuInit(0), "start")?;
                check(sys::cuDriverGetVersion(&mut release), "say its version")?;
            }
            if release < OLDEST_RELEASE {
                let [found, oldest] = [release, OLDEST_RELEASE]
                    .map(|release| format!("{}.{}", release / 1000, release % 1000 / 10));
                let message =
                    format!("the CUDA driver is of release {found}, and must be of {oldest} or later");
                return Err(DriverError::Absent(message));
            }
            Ok(())
        })
        .clone()
}

#[cfg(test)]
mod tests {
    /// Where there is a driver, this must not fail; where there is none, the message must say so.
    #[test]
    fn absence_is_an_error_with_a_reason() {
        if let Err(error) = super::initialise() {
            assert!(error.to_string().contains("CUDA driver"), "{error}");
        }
    }
}
