//! Python arguments as specialisations, and what is left of them for the launch.

use crate::arrays;
use crate::binding::Parameter;
use crate::call::USUAL_ARGUMENTS;
use crate::classes::{classes, is_instance};
use crate::constants::{Objects, constant, named_tuple_class, numpy_scalar, pointer_type, scalar_type};
use crate::device::Place;
use crate::function::JITFunction;
use crate::language::LanguageFunction;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt, PyString, PyTuple};
use smallvec::SmallVec;
use tegula_ir::{Pointer, Scalar};
use tegula_runtime::specialization::{self, RunTime};
use tegula_runtime::{ArrayRange, Constant, Descriptor, Policy, Specialization};

/// What arguments are wanted for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Nothing will run, so a `torch.dtype` may stand for a tensor.
    Compilation,
    Launch,
    /// A launch whose accesses are checked against the arrays, so their extents are needed.
    CheckedLaunch,
    /// A launch in the simulator, or an interpreted one, checked as well: but against all the memory that a view is part of, since kernels reach it by strides of
    /// either sign.
    Interpretation,
    Simulation,
}

/// What a call's arguments come to.
pub struct Arguments {
    /// What the kernel is compiled for, one a parameter.
    pub key: SmallVec<[Specialization; USUAL_ARGUMENTS]>,
    /// The run-time leaves.
    pub leaves: SmallVec<[u64; USUAL_ARGUMENTS]>,
    /// The objects that the key refers to by address.
    pub objects: Objects,
    /// The leaves that are addresses of read-only arrays, with the parameter's index.
    pub read_only: Vec<(usize, usize)>,
    /// The memory of the arrays, if accesses are to be checked.
    pub ranges: Option<Vec<ArrayRange>>,
    /// Whether an array's extent is unknown, so that nothing can be checked.
    pub unknown_extent: bool,
    /// Where the arrays are, with the index of the first one's parameter; `None` if none says.
    pub place: Option<(Place, usize)>,
    /// The index of the first parameter whose argument is a tensor on the CPU.
    pub cpu_tensor: Option<usize>,
    /// Where an array is that is not where the first one is.
    misplaced: Option<Place>,
    /// Whether ranges are those of the storage that an array is a view of.
    whole_storage: bool,
    /// Whether a `torch.dtype` stands for a tensor of that type.
    types_are_tensors: bool,
    /// What owns memory for the time of the launch.
    kept: Vec<Py<PyAny>>,
}

impl Arguments {
    /// Nothing yet, to be filled for a purpose.
    #[inline]
    pub fn new(purpose: Purpose) -> Arguments {
        Arguments {
            key: SmallVec::new(),
            leaves: SmallVec::new(),
            objects: Objects::new(),
            read_only: Vec::new(),
            ranges: (!matches!(purpose, Purpose::Compilation | Purpose::Launch)).then(Vec::new),
            unknown_extent: false,
            place: None,
            cpu_tensor: None,
            misplaced: None,
            whole_storage: matches!(purpose, Purpose::Interpretation | Purpose::Simulation),
            types_are_tensors: purpose == Purpose::Compilation,
            kept: Vec::new(),
        }
    }

    /// Specialises one argument a parameter.
    ///
    /// # Errors
    /// What is wrong with an argument, with the parameter's index.
    pub fn specialize(
        &mut self,
        parameters: &[Parameter],
        bound: &[&Bound<'_, PyAny>],
    ) -> Result<(), (usize, PyErr)> {
        for (index, (parameter, object)) in parameters.iter().zip(bound).enumerate() {
            let specialized = if parameter.constexpr {
                self.constexpr(object)
            } else {
                self.runtime(index, parameter, object)
            };
            specialized.map_err(|error| (index, error))?;
            if let (Some(here), Some((first, at))) = (self.misplaced, self.place) {
                let message = format!(
                    "it is on {here}, but `{}` is on {first}; the arrays of a launch must be on one device",
                    parameters[at].name
                );
                return Err((index, PyValueError::new_err(message)));
            }
        }
        Ok(())
    }

    fn constexpr(&mut self, object: &Bound<'_, PyAny>) -> PyResult<()> {
        self.key.push(Specialization::Constexpr(constant(object, &mut self.objects)?));
        Ok(())
    }

    fn runtime(&mut self, index: usize, parameter: &Parameter, object: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = object.py();
        // To ask takes less time than a cast that fails, which makes an error.
        if object.is_exact_instance_of::<PyInt>() {
            return self.integer(parameter, object);
        }
        if object.is_exact_instance_of::<PyFloat>() {
            self.float(parameter, object.extract()?);
            return Ok(());
        }
        if object.is_exact_instance_of::<PyBool>() {
            self.boolean(parameter, object.is_truthy()?);
            return Ok(());
        }
        if object.is_none() {
            self.key.push(Specialization::Constexpr(Constant::None));
            return Ok(());
        }
        if let Some(array) = arrays::read(object)? {
            let pointer = self.array(index, parameter, &array)?;
            self.add(pointer);
            return Ok(());
        }
        if self.types_are_tensors
            && let Some(pointee) = arrays::torch_dtype(object)
        {
            self.add(pointer(parameter, pointee, 0));
            return Ok(());
        }
        if let Ok(tuple) = object.cast::<PyTuple>() {
            let first = self.key.len();
            for item in tuple {
                self.runtime(index, parameter, &item)?;
            }
            let items = self.key.drain(first..).collect();
            let class = named_tuple_class(object, &mut self.objects);
            self.key.push(Specialization::Tuple(items, class));
            return Ok(());
        }
        let classes = classes(py)?;
        if is_instance(object, &classes.tensor_descriptor) {
            return self.descriptor(index, parameter, object);
        }
        let is_constant = object.cast::<PyString>().is_ok()
            || scalar_type(object).is_some()
            || pointer_type(object)?.is_some()
            || object.cast::<JITFunction>().is_ok()
            || object.cast::<LanguageFunction>().is_ok()
            || is_instance(object, &classes.constexpr)
            || is_instance(object, &classes.constexpr_function);
        if is_constant {
            return self.constexpr(object);
        }
        if let Some(number) = numpy_scalar(object)? {
            return self.runtime(index, parameter, &number);
        }
        if object.cast::<PyInt>().is_ok() {
            return self.integer(parameter, object);
        }
        if let Ok(value) = object.cast::<PyFloat>() {
            self.float(parameter, value.value());
            return Ok(());
        }
        if let Ok(number) = object.call_method0("__index__") {
            return self.integer(parameter, &number);
        }
        if is_instance(object, &classes.enumeration) {
            return self.constexpr(object);
        }
        Err(PyTypeError::new_err(
            "a kernel takes tensors and arrays, ints, floats, bools, None, and tuples of these; everything else \
             needs a parameter annotated `tl.constexpr`",
        ))
    }

    fn integer(&mut self, parameter: &Parameter, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let value = match value.extract::<i64>() {
            Ok(value) => i128::from(value),
            Err(_) => value
                .extract::<i128>()
                .map_err(|_| PyValueError::new_err(format!("{value} fits neither int64 nor uint64")))?,
        };
        let policy = parameter.policy;
        let run_time = match parameter.declared {
            Some(Scalar::Int1) => specialization::boolean(value != 0),
            Some(scalar) if scalar.is_float() => specialization::float(value as f64, Some(scalar)),
            Some(scalar) => specialization::typed_integer(value, scalar, policy),
            None => {
                if let Some(constant) = specialization::constant(value, policy) {
                    self.key.push(Specialization::Constexpr(constant));
                    return Ok(());
                }
                specialization::integer(value, policy)
                    .map_err(|error| PyValueError::new_err(error.to_string()))?
            }
        };
        self.add(run_time);
        Ok(())
    }

    fn float(&mut self, parameter: &Parameter, value: f64) {
        self.add(specialization::float(value, parameter.declared));
    }

    fn boolean(&mut self, parameter: &Parameter, value: bool) {
        self.add(match parameter.declared {
            Some(scalar) if scalar.is_int() && scalar != Scalar::Int1 => {
                specialization::typed_integer(value.into(), scalar, parameter.policy)
            }
            _ => specialization::boolean(value),
        });
    }

    fn add(&mut self, run_time: RunTime) {
        self.leaves.push(run_time.word);
        self.key.push(run_time.into());
    }

    fn array(
        &mut self,
        index: usize,
        parameter: &Parameter,
        array: &arrays::Array<'_, '_>,
    ) -> PyResult<RunTime> {
        match (array.place, self.place) {
            (Some(here), None) => self.place = Some((here, index)),
            (Some(here), Some((first, _))) if here != first => self.misplaced = Some(here),
            _ => {}
        }
        if array.place == Some(Place::Cpu) && array.is_tensor() {
            self.cpu_tensor = self.cpu_tensor.or(Some(index));
        }
        if array.read_only {
            self.read_only.push((self.leaves.len(), index));
        }
        if self.ranges.is_some() {
            let extent = if self.whole_storage { array.storage()? } else { array.extent()? };
            match extent {
                Some((address, bytes)) => self.ranges.get_or_insert_default().push(ArrayRange {
                    name: parameter.name.clone(),
                    address: address as usize,
                    bytes: bytes as usize,
                    writable: !array.read_only,
                }),
                None => self.unknown_extent = true,
            }
        }
        if let Some(owner) = array.owner() {
            self.kept.push(owner);
        }
        Ok(pointer(parameter, array.scalar, array.address))
    }

    fn descriptor(&mut self, index: usize, parameter: &Parameter, object: &Bound<'_, PyAny>) -> PyResult<()> {
        let integers = |name: &str| -> PyResult<Vec<i64>> {
            object.getattr(name)?.try_iter()?.map(|item| item?.extract()).collect()
        };
        let base = object.getattr("base")?;
        let array = arrays::read(&base)?
            .ok_or_else(|| PyTypeError::new_err("the base of the descriptor is no tensor"))?;
        let base = self.array(index, parameter, &array)?;
        let mut part = |run_time: RunTime| -> Specialization {
            self.leaves.push(run_time.word);
            run_time.into()
        };
        let base = part(base);
        let mut shape = Vec::new();
        for extent in integers("shape")? {
            if i32::try_from(extent).is_err() {
                let message = format!("the descriptor's extent {extent} does not fit int32");
                return Err(PyValueError::new_err(message));
            }
            shape.push(part(specialization::typed_integer(extent.into(), Scalar::Int32, Policy::default())));
        }
        let mut strides = integers("strides")?;
        let last = strides.pop();
        if last != Some(1) {
            return Err(PyValueError::new_err("the last stride of a descriptor must be 1"));
        }
        let mut strides: Vec<Specialization> = strides
            .into_iter()
            .map(|stride| {
                part(specialization::typed_integer(stride.into(), Scalar::Int64, Policy::default()))
            })
            .collect();
        strides.push(Specialization::Constexpr(Constant::Int(1)));
        let mut block_shape = Vec::new();
        for extent in integers("block_shape")? {
            block_shape.push(u32::try_from(extent).map_err(|_| {
                PyValueError::new_err(format!(
                    "the extent {extent} of the descriptor's block is not positive"
                ))
            })?);
        }
        let pad_with_nan = object.getattr("padding")?.extract::<String>()? == "nan";
        let descriptor = Descriptor { base, shape, strides, block_shape, pad_with_nan };
        self.key.push(Specialization::Descriptor(Box::new(descriptor)));
        Ok(())
    }
}

fn pointer(parameter: &Parameter, pointee: Scalar, address: u64) -> RunTime {
    let pointer = Pointer { pointee, depth: 1, constant: parameter.constant };
    specialization::pointer(address, pointer, parameter.policy)
}
