//! One operation of the language at a time, for an interpreter: the same front end, passes and back end as for whole kernels.

use crate::error::Error;
use crate::internal::guarded;
use crate::specialization::Constant;
use std::sync::Arc;
use tegula_cpu::{EagerBlock, Evaluation, LaunchError, Program, Setting};
use tegula_frontend::host::TupleClass;
use tegula_frontend::value::{RecordKind, Value};
use tegula_frontend::{Host, HostValue, Operand, compile_operation};
use tegula_ir::{Element, Function, Op, RegionId, Type};

/// What an operation is compiled for in the place of one operand. Equal ones mean one compiled operation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum OperandKey {
    Runtime(Type),
    Constant(Constant),
    /// With the host's number of the named-tuple class, if it is one.
    Tuple(Vec<OperandKey>, Option<u64>),
    Slice(Box<[OperandKey; 3]>),
    Ellipsis,
    Record(RecordKind, Vec<(&'static str, OperandKey)>),
}

impl OperandKey {
    /// The operand as the front end wants it; `object` says what the host's numbers mean.
    pub fn to_operand(&self, object: &dyn Fn(u64) -> HostValue) -> Operand {
        match self {
            OperandKey::Runtime(ty) => Operand::Runtime(ty.clone()),
            OperandKey::Constant(constant) => Operand::Constant(constant.to_host_value(object)),
            OperandKey::Tuple(items, class) => Operand::Tuple(
                items.iter().map(|item| item.to_operand(object)).collect(),
                tuple_class(*class, object),
            ),
            OperandKey::Slice(bounds) => {
                Operand::Slice(Box::new(bounds.each_ref().map(|bound| bound.to_operand(object))))
            }
            OperandKey::Ellipsis => Operand::Ellipsis,
            OperandKey::Record(kind, fields) => {
                let fields = fields.iter().map(|(name, field)| (*name, field.to_operand(object)));
                Operand::Record(*kind, fields.collect())
            }
        }
    }
}

fn tuple_class(class: Option<u64>, object: &dyn Fn(u64) -> HostValue) -> Option<TupleClass> {
    match object(class?) {
        HostValue::TupleClass(class) => Some(class),
        _ => None,
    }
}

/// A compiled operation.
#[derive(Debug)]
pub struct Operation {
    program: Program,
    result: Value,
    makes_addresses: bool,
}

impl Operation {
    /// Compiles an expression over named operands; see [`compile_operation`].
    ///
    /// # Errors
    /// [`Error::Compile`] or [`Error::Unsupported`] if the operands do not fit, [`Error::Internal`] if the compiler is at fault.
    pub fn compile(
        host: &dyn Host,
        expression: &str,
        operands: &[(&str, Operand)],
    ) -> Result<Operation, Error> {
        guarded(expression, || {
            let compiled = compile_operation(host, expression, operands).map_err(Error::Compile)?;
            let mut function = compiled.function;
            tegula_passes::optimise(&mut function);
            let makes_addresses = makes_addresses(&function, function.body);
            let function = Arc::new(function);
            let program = Program::new(Arc::clone(&function)).map_err(|diagnostic| Error::Unsupported {
                diagnostic,
                sources: Box::new(function.sources.clone()),
            })?;
            Ok(Operation { program, result: compiled.result, makes_addresses })
        })
    }

    /// What the expression evaluates to; each tensor in it is the number of a result.
    pub fn result(&self) -> &Value {
        &self.result
    }

    /// The type of a result.
    pub fn result_type(&self, number: usize) -> &Type {
        let function = self.program.function();
        function.ty(function.region(function.body).yields[number])
    }

    /// Whether it may make pointers of something other than pointers that it is given: of what is in memory, or of integers.
    pub fn makes_addresses(&self) -> bool {
        self.makes_addresses
    }

    /// Executes the operation.
    ///
    /// # Errors
    /// What stopped it.
    ///
    /// # Safety
    /// As for [`Program::evaluate`].
    pub unsafe fn evaluate<'b>(
        &self,
        operands: impl ExactSizeIterator<Item = &'b EagerBlock>,
        setting: &Setting<'_>,
    ) -> Result<Evaluation, LaunchError> {
        // SAFETY: the caller vouches for the operands and the addresses.
        unsafe { self.program.evaluate(operands, setting) }
    }
}

fn makes_addresses(function: &Function, region: RegionId) -> bool {
    let is_address = |value: &tegula_ir::Value| matches!(function.ty(*value).element, Element::Pointer(_));
    function.region(region).ops.iter().any(|&id| {
        let data = function.op(id);
        let of_something_else = match &data.op {
            Op::Load { .. } | Op::AtomicRmw { .. } | Op::AtomicCas { .. } => true,
            Op::Bitcast { value } => !is_address(value),
            _ => false,
        };
        (of_something_else && data.results.iter().any(is_address))
            || data.op.regions().into_iter().any(|inner| makes_addresses(function, inner))
    })
}
