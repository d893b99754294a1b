//! Panics, which would be faults of the compiler itself, as errors.

use crate::error::Error;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs a step of a compilation or of a launch; a panic becomes [`Error::Internal`] about the kernel.
///
/// # Errors
/// Those of the step.
pub fn guarded<T, E: From<Error>>(kernel: &str, step: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
    // What the step was changing when it panicked is dropped with it, or lives behind locks that survive poisoning.
    catch_unwind(AssertUnwindSafe(step)).unwrap_or_else(|payload| {
        let message = tegula_cpu::panic_text(&*payload).to_owned();
        Err(E::from(Error::Internal { kernel: kernel.to_owned(), message }))
    })
}

#[cfg(test)]
mod tests {
    use super::guarded;
    use crate::error::Error;

    #[test]
    fn a_panic_is_an_error_that_names_the_kernel() {
        let values: Vec<i32> = Vec::new();
        let error = guarded::<i32, Error>("softmax", || Ok(values[3])).unwrap_err();
        let text = error.to_string();
        assert!(text.starts_with("internal compiler error in `softmax`: index out of bounds"), "{text}");
        assert!(text.contains("report"), "{text}");
    }

    #[test]
    fn what_does_not_panic_passes() {
        assert_eq!(guarded::<i32, Error>("softmax", || Ok(3)).unwrap(), 3);
        let refused = guarded::<i32, Error>("softmax", || Err(Error::IntegerRange(7))).unwrap_err();
        assert!(matches!(refused, Error::IntegerRange(7)));
    }
}
