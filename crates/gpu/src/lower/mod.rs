//! Lowering: operations with layouts to PTX, a file for each kind.
//!
//! | file | what it lowers |
//! |---|---|
//! | `control` | regions, loops and branches |
//! | `elementwise`, `contraction`, `pairs`, `cast`, `magnitude`, `float8` | arithmetic, comparisons, conversions of numbers |
//! | `math` | functions of real numbers |
//! | `shape` | index blocks, splats and what renames or moves elements |
//! | `convert` | conversions between layouts |
//! | `memory`, `atomic` | accesses of global memory |
//! | `reduce`, `scan`, `histogram` | what joins elements |
//! | `dot`, `wgmma`, `multiply_add` | products |
//! | `tile`, `pipeline`, `bulk`, `private` | operands of products in shared memory, and loops that fetch them and others ahead |
//! | `print` | `device_print` and `device_assert` |
//! | `assembly` | texts of the user |
//!
//! What they share: `element` (how elements are held), `emit` (instructions), `place` (where a thread's elements are),
//! `pack` (elements joined in words), `scratch` (shared memory).

mod assembly;
mod atomic;
mod bulk;
mod cast;
mod contraction;
mod control;
mod convert;
mod dot;
mod element;
mod elementwise;
mod emit;
mod float8;
mod histogram;
mod magnitude;
mod math;
mod memory;
mod multiply_add;
mod pack;
mod pairs;
mod pipeline;
mod place;
mod print;
mod private;
mod reduce;
mod rotation;
mod scan;
mod scratch;
mod shape;
mod tile;
mod turns;
mod wgmma;

use crate::bulk::{Condition, TensorMap};
use crate::channels::Channels;
use crate::hazards::Hazards;
use crate::layouts::{Assignment, LayoutId, SharedTile};
use crate::users::Users;
use crate::{Kernel, Options, ParameterKind, Target};
use emit::Emitter;
use rustc_hash::FxHashMap;
use std::rc::Rc;
use tegula_ir::{Diagnostic, Element, Function, Op, OpId, Scalar, Span, Value};
use tegula_passes::AxisAnalysis;
use tegula_ptx::{
    Address, Class, LaunchBounds, Load, Module, Parameter, PointerFact, Register, Space, Statement, Type,
    Variable,
};

type Result<T> = std::result::Result<T, Box<Diagnostic>>;

/// The registers of a block in one layout, by register number.
type Registers = Rc<[Register]>;

/// The dynamic shared memory of a kernel.
const SHARED: &str = "shared_memory";

pub(crate) struct Lowering<'f> {
    function: &'f Function,
    layouts: Assignment,
    axis: AxisAnalysis,
    hazards: Hazards,
    users: Users,
    target: Target,
    options: &'f Options,
    /// The axes of the grid along which programs are numbered from its end.
    reversed_axes: [bool; 3],
    module: Module,
    code: Emitter,
    scalars: FxHashMap<Value, Register>,
    blocks: FxHashMap<(Value, LayoutId), Registers>,
    places: place::Places,
    scratch: scratch::Scratch,
    /// Addresses of bytes of shared memory, by their offset.
    shared_addresses: FxHashMap<u32, Register>,
    /// The shared memory that tiles may take.
    shared_limit: u32,
    channels: Channels,
    /// The addresses of the tiles of staged loads, as far as they are filled.
    tiles: FxHashMap<OpId, Register>,
    /// Whether tiles are being filled that nobody has waited for.
    filling: bool,
    /// The addresses of the tiles of operands that threads have stored, by their product.
    stored: FxHashMap<OpId, Register>,
    /// The producers of the loops around, the innermost last.
    producers: Vec<pipeline::Producer>,
    /// The registers in which the loops around carry their values.
    rooms: Vec<Vec<Registers>>,
    /// Loops around.
    loop_depth: u32,
    /// Whether products of the innermost loop may stay in flight when an iteration ends.
    defers: bool,
    /// Whether warpgroups take turns with products whose left operand threads read from a tile.
    takes_turns: bool,
    /// The results of products in flight.
    in_flight: Vec<Value>,
    /// Predicates that are false and true.
    truths: [Option<Register>; 2],
    tensor_maps: Vec<TensorMap>,
    conditions: Vec<Condition>,
    span: Span,
    /// How many regions applied to single elements are open: there, lanes go different ways.
    divergent: u32,
    /// The places of the texts of the user, in the order of the code.
    texts: Vec<Span>,
}

/// Lowers a function whose layouts are assigned.
///
/// How far loops fetch ahead depends on how much shared memory they may take; where what else the kernel needs does not fit beside
/// that, they get less.
pub(crate) fn lower(
    function: &Function,
    layouts: &Assignment,
    axis: &AxisAnalysis,
    target: Target,
    options: &Options,
) -> Result<Kernel> {
    let limit = crate::kernel::shared_limit(target);
    let mut room = limit;
    loop {
        let kernel = lower_within(function, layouts.clone(), axis, target, options, room)?;
        if kernel.shared_bytes <= limit || room == 0 {
            return Ok(kernel);
        }
        room = room.saturating_sub(kernel.shared_bytes - limit);
        // Where the excess is no longer the loops' doing, they fetch nothing ahead.
        if room < limit / 8 {
            room = 0;
        }
    }
}

fn lower_within(
    function: &Function,
    layouts: Assignment,
    axis: &AxisAnalysis,
    target: Target,
    options: &Options,
    shared_limit: u32,
) -> Result<Kernel> {
    let name = symbol(&function.name);
    let mut entry = tegula_ptx::Function::kernel(name.as_str());
    let threads = options.num_warps * 32;
    let resident = crate::residency::resident_programs(function, &layouts, target, options);
    entry.bounds = LaunchBounds {
        required_threads: Some([threads, 1, 1]),
        max_registers: options.max_registers,
        min_blocks: resident,
        ..LaunchBounds::default()
    };
    let hazards = Hazards::new(function, &layouts);
    let channels = Channels::new(function, &layouts, axis, target, options);
    let mut lowering = Lowering {
        function,
        layouts,
        axis: axis.clone(),
        hazards,
        users: Users::new(function),
        target,
        options,
        reversed_axes: crate::order::reversed_axes(function),
        module: Module::new(target.architecture),
        code: Emitter::new(entry),
        scalars: FxHashMap::default(),
        blocks: FxHashMap::default(),
        places: place::Places::default(),
        scratch: scratch::Scratch::default(),
        shared_addresses: FxHashMap::default(),
        shared_limit,
        channels,
        tiles: FxHashMap::default(),
        filling: false,
        stored: FxHashMap::default(),
        producers: Vec::new(),
        rooms: Vec::new(),
        loop_depth: 0,
        defers: false,
        takes_turns: false,
        in_flight: Vec::new(),
        truths: [None; 2],
        tensor_maps: Vec::new(),
        conditions: Vec::new(),
        span: Span::default(),
        divergent: 0,
        texts: Vec::new(),
    };
    let parameters = lowering.parameters();
    lowering.region(function.body)?;
    lowering.finish_tiles();
    lowering.code.push(tegula_ptx::Control::Return);
    lowering.finish(name, parameters, resident)
}

impl Lowering<'_> {
    fn finish(
        mut self,
        name: String,
        parameters: Vec<ParameterKind>,
        resident: Option<u32>,
    ) -> Result<Kernel> {
        let layouts = self.layouts.describe(self.function);
        let mut entry = self.code.function;
        let mut body = self.code.prologue;
        body.append(&mut entry.body);
        entry.body = body;
        // Of loads that are bulk copies, say, the addresses of elements are not used.
        entry.drop_unused();
        self.module.functions.push(entry);
        if self.scratch.bytes() > 0 {
            self.module.variables.push(Variable::dynamic_shared(SHARED, SharedTile::ALIGNMENT));
        }
        if let Err(unavailable) = self.module.check() {
            return Err(Box::new(Diagnostic::error(Span::default(), unavailable.to_string())));
        }
        Ok(Kernel {
            name,
            ptx: self.module.to_string(),
            shared_bytes: self.scratch.bytes(),
            resident,
            num_warps: self.options.num_warps,
            parameters,
            tensor_maps: self.tensor_maps,
            conditions: self.conditions,
            layouts,
            texts: self.texts,
        })
    }

    /// Declares and reads the parameters.
    fn parameters(&mut self) -> Vec<ParameterKind> {
        let mut kinds = Vec::new();
        for (index, param) in self.function.params.iter().enumerate() {
            let name = format!("parameter{index}");
            let kind = ParameterKind::of(&param.ty);
            let (declared, class) = match param.ty.element {
                Element::Pointer(_) => (Type::U64, Class::Bits64),
                Element::Scalar(Scalar::Int1) => (Type::U8, Class::Bits32),
                element => (element::memory_type(element), element::class_of(element)),
            };
            let mut parameter = Parameter::new(name.as_str(), declared);
            if matches!(param.ty.element, Element::Pointer(_)) {
                let align = param.divisible_by.clamp(1, 16);
                parameter.pointer = Some(PointerFact { space: Space::Global, align });
            }
            self.code.function.parameters.push(parameter);
            let element = param.ty.element;
            let register = self.code.in_prologue(|code| {
                let register = code.fresh(class);
                code.push(Load::new(Space::Param, declared, &[register], Address::symbol(name.as_str(), 0)));
                if element == Element::Scalar(Scalar::Int1) { code.is_set(register) } else { register }
            });
            self.scalars.insert(param.value, register);
            kinds.push(kind);
        }
        kinds
    }

    /// A refusal: the operation, and why.
    fn refuse<T>(&self, what: &str) -> Result<T> {
        let message = format!("{what} cannot be compiled for {} yet", self.target);
        Err(Box::new(Diagnostic::error(self.span, message)))
    }

    fn element(&self, value: Value) -> Element {
        self.function.ty(value).element
    }

    fn scalar_type(&self, value: Value) -> Scalar {
        // Pointers are numbers of 64 bits.
        self.element(value).as_scalar().unwrap_or(Scalar::UInt64)
    }

    fn is_scalar(&self, value: Value) -> bool {
        self.function.ty(value).is_scalar()
    }

    /// The register of a scalar.
    fn scalar(&self, value: Value) -> Register {
        self.scalars[&value]
    }

    /// The registers of a block in a layout that was asked for when layouts were assigned.
    fn block(&self, value: Value, layout: LayoutId) -> Registers {
        match self.blocks.get(&(value, layout)) {
            Some(registers) => Rc::clone(registers),
            None => unreachable!("a layout of {value:?} is used that was not asked for"),
        }
    }

    /// A block in its home, or in any layout if it has none.
    fn anywhere(&self, value: Value) -> (LayoutId, Registers) {
        let home = self.layouts.home_of(value);
        let layout = home.unwrap_or_else(|| self.layouts.wanted[value.0 as usize][0]);
        (layout, self.block(value, layout))
    }

    /// Notes a block that was computed in a layout, and converts it to all others in which it is needed.
    fn define(&mut self, value: Value, layout: LayoutId, registers: Registers) -> Result<()> {
        let mut wanted = self.layouts.wanted[value.0 as usize].clone();
        wanted.extend(self.layouts.home_of(value));
        self.blocks.insert((value, layout), Rc::clone(&registers));
        for target in wanted {
            if !self.blocks.contains_key(&(value, target)) {
                let converted = self.convert(&registers, self.element(value), layout, target)?;
                self.blocks.insert((value, target), converted);
            }
        }
        Ok(())
    }

    /// Names the source line of what follows.
    fn locate(&mut self, span: Span) {
        self.span = span;
        if !self.options.line_info {
            return;
        }
        let Some(file) = self.function.sources.get(span.file) else { return };
        let (line, column) = file.position(span.start);
        let number = match self.module.files.iter().position(|name| *name == file.name) {
            Some(index) => index + 1,
            None => {
                self.module.files.push(file.name.clone());
                self.module.files.len()
            }
        };
        let location = Statement::Location { file: number as u32, line, column };
        let last = self.code.function.body.iter().rev().find(|one| matches!(one, Statement::Location { .. }));
        if last != Some(&location) {
            self.code.function.body.push(location);
        }
    }

    fn op(&mut self, id: OpId) -> Result<()> {
        let function = self.function;
        let data = function.op(id);
        self.locate(data.span);
        self.wait_for_operands(id);
        self.finish_tiles_before(id);
        if self.hazards.barrier_before(id) {
            self.barrier();
        }
        match &data.op {
            Op::Constant(literal) => self.constant(data.results[0], *literal),
            Op::ProgramId { axis } => self.program_id(data.results[0], *axis),
            Op::NumPrograms { axis } => self.num_programs(data.results[0], *axis),
            Op::Arange { .. }
            | Op::Splat { .. }
            | Op::Broadcast { .. }
            | Op::ExpandDims { .. }
            | Op::Transpose { .. }
            | Op::Reshape { .. }
            | Op::Join { .. }
            | Op::Split { .. }
            | Op::Concatenate { .. }
            | Op::Slice { .. }
            | Op::Index { .. }
            | Op::Gather { .. } => self.shape_op(id),
            Op::Unary { .. }
            | Op::Binary { .. }
            | Op::Compare { .. }
            | Op::Select { .. }
            | Op::Fma { .. }
            | Op::Cast { .. }
            | Op::Bitcast { .. }
            | Op::AddPointer { .. }
            | Op::Annotate { .. } => self.elementwise(id),
            Op::MapElementwise { values, body } => self.map(id, values, *body),
            Op::InlineAssembly { assembly, values } => self.inline_assembly(id, assembly, values),
            Op::Load { .. } => self.load(id),
            Op::Store { .. } => self.store(id),
            Op::AtomicRmw { .. } | Op::AtomicCas { .. } => self.atomic(id),
            Op::Dot { .. } => self.dot(id),
            Op::Reduce { values, axis, combine } => self.reduce(id, values, *axis, *combine),
            Op::Scan { values, axis, reverse, combine } => self.scan(id, values, *axis, *reverse, *combine),
            Op::Histogram { value, mask } => self.histogram(id, *value, *mask),
            Op::For { .. } => self.for_loop(id),
            Op::While { inits, condition, body } => self.while_loop(id, inits, *condition, *body),
            Op::If { condition, then, otherwise } => self.branch(id, *condition, *then, *otherwise),
            Op::Print { prefix, hex, values } => self.print(prefix, *hex, values),
            Op::Assert { condition, message, mask } => self.assert(*condition, message, *mask),
            Op::Assume { .. } => Ok(()),
            Op::Barrier => {
                self.barrier();
                Ok(())
            }
        }
    }
}

/// The name of a function as a name of PTX, which has ASCII alone: other characters become their code points.
fn symbol(name: &str) -> String {
    let mut text = String::new();
    for character in name.chars() {
        match character {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '_' => text.push(character),
            other => text.push_str(&format!("$u{:x}$", other as u32)),
        }
    }
    if text.starts_with(|first: char| first.is_ascii_digit()) || text.is_empty() {
        format!("_{text}")
    } else {
        text
    }
}
