//! A function and its arenas of values, operations and regions.

use crate::diagnostic::Diagnostic;
use crate::op::Op;
use crate::source::{SourceMap, Span};
use crate::types::Type;
use smallvec::SmallVec;

/// Identifies a value of a [`Function`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Value(pub u32);

/// Identifies an operation of a [`Function`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OpId(pub u32);

/// Identifies a region of a [`Function`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RegionId(pub u32);

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueDef {
    /// The parameter of the function with this index.
    Param(u32),
    /// A result of an operation.
    Result { op: OpId, index: u32 },
    /// An argument of a region: a loop's index, a carried value, an operand of a combine function.
    RegionArg { region: RegionId, index: u32 },
}

/// What is known of a value.
#[derive(Clone, Debug)]
pub struct ValueData {
    pub ty: Type,
    pub def: ValueDef,
    pub span: Span,
}

/// An operation with its results.
#[derive(Clone, Debug)]
pub struct OpData {
    pub op: Op,
    pub results: SmallVec<[Value; 1]>,
    pub span: Span,
}

/// A list of operations with arguments and yielded values.
///
/// What the yields mean is said by the operation that owns the region: the next carried values of
/// a loop, the results of a branch, the result of a combine function.
#[derive(Clone, Debug, Default)]
pub struct Region {
    pub args: Vec<Value>,
    pub ops: Vec<OpId>,
    pub yields: Vec<Value>,
}

/// A parameter of a kernel.
#[derive(Clone, Debug)]
pub struct Param {
    pub name: String,
    pub ty: Type,
    /// The argument (for a pointer, its address in bytes) is known to be a multiple of this; 1 if nothing is known.
    pub divisible_by: u32,
    /// The value that stands for the parameter. [`Function::new`] sets it.
    pub value: Value,
}

impl Param {
    /// A parameter of which nothing is known but its type.
    pub fn new(name: impl Into<String>, ty: Type) -> Param {
        Param { name: name.into(), ty, divisible_by: 1, value: Value(u32::MAX) }
    }
}

/// A kernel: what one program of the grid does.
#[derive(Clone, Debug)]
pub struct Function {
    pub name: String,
    pub params: Vec<Param>,
    /// The outermost region. It yields nothing, but in a function that is one operation of an interpreter: there it yields
    /// the results, and parameters may be blocks.
    pub body: RegionId,
    pub sources: SourceMap,
    /// What usually is a mistake in the source, found while the function was made. Passes leave it as it is.
    pub warnings: Vec<Diagnostic>,
    values: Vec<ValueData>,
    ops: Vec<OpData>,
    regions: Vec<Region>,
}

impl Function {
    /// A function without operations.
    pub fn new(name: impl Into<String>, params: Vec<Param>) -> Function {
        let mut function = Function {
            name: name.into(),
            params: Vec::new(),
            body: RegionId(0),
            sources: SourceMap::default(),
            warnings: Vec::new(),
            values: Vec::new(),
            ops: Vec::new(),
            regions: vec![Region::default()],
        };
        for (index, mut param) in params.into_iter().enumerate() {
            param.value =
                function.add_value(param.ty.clone(), ValueDef::Param(index as u32), Span::default());
            function.params.push(param);
        }
        function
    }

    /// What is known of a value.
    pub fn value(&self, value: Value) -> &ValueData {
        &self.values[value.0 as usize]
    }

    /// The type of a value.
    pub fn ty(&self, value: Value) -> &Type {
        &self.values[value.0 as usize].ty
    }

    /// How many values there are; identifiers run from 0.
    pub fn value_count(&self) -> usize {
        self.values.len()
    }

    /// How many operations the arena holds, those no region lists any more included.
    pub fn op_count(&self) -> usize {
        self.ops.len()
    }

    /// How many regions the arena holds.
    pub fn region_count(&self) -> usize {
        self.regions.len()
    }

    /// An operation and its results.
    pub fn op(&self, op: OpId) -> &OpData {
        &self.ops[op.0 as usize]
    }

    /// An operation and its results, to be changed.
    pub fn op_mut(&mut self, op: OpId) -> &mut OpData {
        &mut self.ops[op.0 as usize]
    }

    /// A region.
    pub fn region(&self, region: RegionId) -> &Region {
        &self.regions[region.0 as usize]
    }

    /// A region, to be changed.
    pub fn region_mut(&mut self, region: RegionId) -> &mut Region {
        &mut self.regions[region.0 as usize]
    }

    /// The operation that computes a value, unless it is a parameter or a region's argument.
    pub fn defining_op(&self, value: Value) -> Option<&OpData> {
        match self.value(value).def {
            ValueDef::Result { op, .. } => Some(self.op(op)),
            ValueDef::Param(_) | ValueDef::RegionArg { .. } => None,
        }
    }

    /// Adds an operation to the arena, with results of the given types; the caller lists it in a region.
    pub fn add_op(&mut self, op: Op, results: impl IntoIterator<Item = Type>, span: Span) -> OpId {
        let id = OpId(self.ops.len() as u32);
        self.ops.push(OpData { op, results: SmallVec::new(), span });
        let results: SmallVec<[Value; 1]> = results
            .into_iter()
            .enumerate()
            .map(|(index, ty)| self.add_value(ty, ValueDef::Result { op: id, index: index as u32 }, span))
            .collect();
        self.ops[id.0 as usize].results = results;
        id
    }

    /// Adds an empty region.
    pub fn add_region(&mut self) -> RegionId {
        self.regions.push(Region::default());
        RegionId(self.regions.len() as u32 - 1)
    }

    /// Adds an argument to a region.
    pub fn add_region_arg(&mut self, region: RegionId, ty: Type, span: Span) -> Value {
        let index = self.region(region).args.len() as u32;
        let value = self.add_value(ty, ValueDef::RegionArg { region, index }, span);
        self.region_mut(region).args.push(value);
        value
    }

    /// Appends a result to an operation (a loop that turns out to carry one more value).
    pub fn add_result(&mut self, op: OpId, ty: Type) -> Value {
        let OpData { results, span, .. } = self.op(op);
        let def = ValueDef::Result { op, index: results.len() as u32 };
        let span = *span;
        let value = self.add_value(ty, def, span);
        self.op_mut(op).results.push(value);
        value
    }

    /// Keeps only the results of an operation whose old index satisfies `keep`.
    pub fn retain_results(&mut self, op: OpId, mut keep: impl FnMut(usize) -> bool) {
        let mut old = 0..;
        self.op_mut(op).results.retain(|_| keep(old.next().expect("an endless range")));
        for index in 0..self.op(op).results.len() {
            let value = self.op(op).results[index];
            self.values[value.0 as usize].def = ValueDef::Result { op, index: index as u32 };
        }
    }

    /// Keeps only the arguments of a region whose old index satisfies `keep`.
    pub fn retain_region_args(&mut self, region: RegionId, mut keep: impl FnMut(usize) -> bool) {
        let mut old = 0..;
        self.region_mut(region).args.retain(|_| keep(old.next().expect("an endless range")));
        for index in 0..self.region(region).args.len() {
            let value = self.region(region).args[index];
            self.values[value.0 as usize].def = ValueDef::RegionArg { region, index: index as u32 };
        }
    }

    fn add_value(&mut self, ty: Type, def: ValueDef, span: Span) -> Value {
        self.values.push(ValueData { ty, def, span });
        Value(self.values.len() as u32 - 1)
    }
}
