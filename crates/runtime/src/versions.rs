//! Further versions of a kernel, for arguments of which the first one assumes too much.
//!
//! The first version of a kernel with bulk copies needs tensor maps, which not all arguments have. The others do without, and are
//! compiled when they are needed, for what is known of the arguments that the maps depend on:
//!
//! ```text
//! a stride of 3000 elements, where the first version wants rows of so many times 16 bytes
//! -> a version for a stride that is a multiple of 8
//! ```

use crate::error::Error;
use crate::options::Options;
use crate::tensor_map::Plan;
use std::sync::{Arc, PoisonError, RwLock};
use tegula_ir::Function;

/// The largest power of two that is told of an argument, as the launch tells the compiler of all.
const MOST: u64 = 16;

/// What is known of arguments: powers of two that divide them.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Facts(Vec<u32>);

/// The versions of a kernel beside the first.
#[derive(Debug)]
pub(crate) struct Versions<K> {
    function: Arc<Function>,
    options: Options,
    /// The integer parameters that the tensor maps of the first version depend on.
    parameters: Vec<usize>,
    known: RwLock<Vec<(Facts, Arc<K>)>>,
}

impl<K> Versions<K> {
    pub fn new(function: &Arc<Function>, options: &Options, plan: &Plan) -> Versions<K> {
        Versions {
            function: Arc::clone(function),
            options: Options { bulk_copies: false, ..*options },
            parameters: plan.integer_parameters(),
            known: RwLock::default(),
        }
    }

    /// The version for some arguments, which `compile` makes if there is none.
    ///
    /// # Errors
    /// Those of `compile`.
    pub fn of(
        &self,
        arguments: &[u64],
        compile: impl FnOnce(&Arc<Function>, &Options) -> Result<K, Error>,
    ) -> Result<Arc<K>, Error> {
        let divisor = |&parameter: &usize| 1 << (arguments[parameter] | MOST).trailing_zeros();
        let facts = Facts(self.parameters.iter().map(divisor).collect());
        let find = |known: &[(Facts, Arc<K>)]| {
            known.iter().find(|(of, _)| *of == facts).map(|(_, kernel)| Arc::clone(kernel))
        };
        // A thread that panicked has pushed a whole version or none.
        if let Some(kernel) = find(&self.known.read().unwrap_or_else(PoisonError::into_inner)) {
            return Ok(kernel);
        }
        let mut function = Function::clone(&self.function);
        for (&parameter, &divisor) in self.parameters.iter().zip(&facts.0) {
            let known = &mut function.params[parameter].divisible_by;
            *known = divisor.max(*known);
        }
        let kernel = Arc::new(compile(&Arc::new(function), &self.options)?);
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(kernel) = find(&known) {
            return Ok(kernel);
        }
        known.push((facts, Arc::clone(&kernel)));
        Ok(kernel)
    }
}

#[cfg(test)]
mod tests {
    use super::Versions;
    use crate::options::Options;
    use crate::tensor_map::Plan;
    use std::sync::Arc;
    use tegula_ir::Function;

    #[test]
    fn a_version_knows_what_divides_its_arguments() {
        let function = Function::parse("kernel @a(%x: *fp16 {divisible 16}, %s: i32, %n: i32) {\n}").unwrap();
        let map = "0 fp16 - - 1*1 64 128 128".parse().unwrap();
        let plan = Plan::new(&function, vec![map], Vec::new());
        let versions: Versions<Vec<u32>> = Versions::new(&Arc::new(function), &Options::default(), &plan);
        let of = |stride: i32, compiles: bool| {
            let version = versions.of(&[4096, stride as u32 as u64, 48], |function, options| {
                assert!(compiles && !options.bulk_copies);
                Ok(function.params.iter().map(|param| param.divisible_by).collect())
            });
            version.unwrap().to_vec()
        };
        assert_eq!(of(3000, true), [16, 8, 1]);
        assert_eq!(of(777, true), [16, 1, 1]);
        assert_eq!(of(-8, false), [16, 8, 1]);
        assert_eq!(of(0, true), [16, 16, 1]);
        assert_eq!(of(64, false), [16, 16, 1]);
    }
}
