//! Warnings about one launch: accesses that go wrong for the arguments at hand, found before the kernel runs.
//!
//! ```text
//! %row = mul %pid, %stride : i32          with 70000 programs and a stride of 40000, the last row starts at
//! %p1 = add_pointer %p, %row       =>     2799960000, which int32 does not hold: the program reads elsewhere
//! %x = load %p1
//! ```
//!
//! A few programs of the grid (its corners) are evaluated for a few lanes of every access: the corners of the block, and those
//! at the edge of the mask. What is reported is an access that certainly happens: its mask is true, the branches and loops
//! around it are taken, and nothing that leads to its address depends on memory. So there are no false alarms; accesses that only
//! other programs or lanes get wrong are missed.

mod place;
mod probe;

use place::Places;
use probe::{Iteration, Lane, Number, Probe, as_number, target};
use std::ops::Range;
use tegula_ir::{Diagnostic, Function, Op, OpId, RegionId, Scalar, Shape, Span, Value, ValueDef};

/// What a launch is known by.
#[derive(Clone, Copy, Debug)]
pub struct Launch<'a> {
    /// How many programs there are along each axis; none is 0.
    pub grid: [u32; 3],
    /// One entry a parameter: integers sign- or zero-extended, pointers as addresses.
    pub arguments: &'a [u64],
}

/// The accesses of a function, to be checked against launches.
#[derive(Clone, Debug)]
pub struct LaunchCheck {
    places: Places,
    accesses: Vec<Access>,
}

/// An operation that reads or writes memory.
#[derive(Clone, Copy, Debug)]
struct Access {
    op: OpId,
    pointer: Value,
    mask: Option<Value>,
    /// `reads` or `writes`.
    verb: &'static str,
}

impl LaunchCheck {
    /// Finds the accesses of a function.
    pub fn new(function: &Function) -> LaunchCheck {
        let places = Places::new(function);
        let mut accesses = Vec::new();
        collect(function, function.body, &mut accesses);
        LaunchCheck { places, accesses }
    }

    /// Whether no offset wraps, even at lanes that are masked, in the programs and iterations that are looked at.
    pub fn offsets_fit(&self, function: &Function, launch: &Launch<'_>) -> bool {
        let mut fit = true;
        self.each_program(function, launch, |check, probe| {
            for access in &check.accesses {
                for lane in corners(&function.ty(access.pointer).shape) {
                    fit &= probe.element(access.pointer, &lane).is_none_or(|address| !wraps(address));
                }
            }
            fit
        });
        fit
    }

    /// What is wrong with a launch: offsets that wrap, and accesses that lie in none of the arrays (ranges of addresses), if those are known.
    pub fn warnings(
        &self,
        function: &Function,
        launch: &Launch<'_>,
        arrays: Option<&[Range<u64>]>,
    ) -> Vec<Diagnostic> {
        let mut warnings: Vec<Diagnostic> = Vec::new();
        self.each_program(function, launch, |check, probe| {
            for access in &check.accesses {
                if !probe.reaches(check.places.region_of(access.op)) {
                    continue;
                }
                let found = check
                    .lanes(function, probe, access)
                    .into_iter()
                    .find_map(|lane| check.fault(function, probe, launch, access, &lane, arrays));
                if let Some(found) = found {
                    let known = |other: &Diagnostic| other.labels[0].span == found.labels[0].span;
                    if !warnings.iter().any(known) {
                        warnings.push(found);
                    }
                }
            }
            true
        });
        warnings
    }

    /// Looks at the corners of the grid, the last program first, in the last and the first iteration, while `look` says so.
    fn each_program(
        &self,
        function: &Function,
        launch: &Launch<'_>,
        mut look: impl FnMut(&LaunchCheck, &mut Probe<'_>) -> bool,
    ) {
        let choices = launch.grid.map(|extent| if extent > 1 { vec![extent - 1, 0] } else { vec![0] });
        for &z in &choices[2] {
            for &y in &choices[1] {
                for &x in &choices[0] {
                    for iteration in [Iteration::Last, Iteration::First] {
                        let mut probe = Probe::new(function, &self.places, launch, [x, y, z], iteration);
                        if !look(self, &mut probe) {
                            return;
                        }
                    }
                }
            }
        }
    }

    /// Lanes of an access that happen: corners of the block, and the last lane before the edge of the mask in each dimension.
    fn lanes(&self, function: &Function, probe: &mut Probe<'_>, access: &Access) -> Vec<Lane> {
        let shape = &function.ty(access.pointer).shape;
        let mut lanes = corners(shape);
        let Some(mask) = access.mask else { return lanes };
        let mut happens = |lane: &Lane| probe.element(mask, lane).is_some_and(|mask| mask.value != 0);
        let origin: Lane = shape.iter().map(|_| 0).collect();
        if happens(&origin) {
            let mut edge = origin.clone();
            for axis in 0..shape.rank() {
                let mut lane = origin.clone();
                let (mut inside, mut outside) = (0, shape[axis]);
                while outside - inside > 1 {
                    let middle = inside + (outside - inside) / 2;
                    lane[axis] = middle;
                    if happens(&lane) { inside = middle } else { outside = middle }
                }
                edge[axis] = inside;
            }
            lanes.push(edge);
        }
        lanes.retain(|lane| happens(lane));
        lanes
    }

    /// What is wrong with an access that happens.
    fn fault(
        &self,
        function: &Function,
        probe: &mut Probe<'_>,
        launch: &Launch<'_>,
        access: &Access,
        lane: &Lane,
        arrays: Option<&[Range<u64>]>,
    ) -> Option<Diagnostic> {
        let address = probe.element(access.pointer, lane)?;
        let span = function.op(access.op).span;
        let program = probe.program();
        let at = format!("in program {program:?} of a grid of {:?}", launch.grid);
        if let Some(origin) = address.wrapped_at.filter(|_| wraps(address)) {
            return Some(overflow(function, probe, origin, lane, span, at));
        }
        let arrays = arrays?;
        let parameter = base(function, &self.places, access.pointer)?;
        let start = launch.arguments[parameter];
        let array = arrays.iter().find(|array| array.contains(&start))?;
        let size = target(function, access.pointer)?.bytes();
        let holds = |array: &Range<u64>, at: u64| array.contains(&at) && array.end - at >= u64::from(size);
        let first = address.value as u64;
        if holds(array, first) {
            return None;
        }
        // A distance between two arrays may be what was added, but no block lies in both.
        let origin: Lane = lane.iter().map(|_| 0).collect();
        let straddles =
            probe.element(access.pointer, &origin).is_some_and(|origin| holds(array, origin.value as u64));
        if !straddles && arrays.iter().any(|other| holds(other, first)) {
            return None;
        }
        let index = (i128::from(first) - i128::from(start)).div_euclid(size.into());
        let elements = (array.end - start) / u64::from(size);
        let name = &function.params[parameter].name;
        let verb = access.verb;
        let message = format!("this {verb} element {index} of `{name}`, which has {elements}");
        let help = match access.mask {
            None => "give the access a mask that is false for the lanes beyond the end",
            Some(_) => "the mask is true for this lane: compare the offsets with the extent of this array",
        };
        let lane = if lane.is_empty() { at } else { format!("{at}, lane {lane:?} of the block") };
        Some(Diagnostic::warning(span, message).with_note(lane).with_help(help))
    }
}

/// The warning for an offset that wrapped at `origin`.
fn overflow(
    function: &Function,
    probe: &mut Probe<'_>,
    origin: OpId,
    lane: &Lane,
    access: Span,
    at: String,
) -> Diagnostic {
    let data = function.op(origin);
    let result = data.results[0];
    let scalar = function.ty(result).element.as_scalar().unwrap_or(Scalar::Int32);
    let name = scalar.language_name();
    let warning = Diagnostic::warning(data.span, format!("this offset does not fit {name} in this launch"));
    // The operation may be one on scalars, or on a block that is broadcast later.
    let shape = &function.ty(result).shape;
    let number = if shape.rank() == 0 {
        probe.scalar(result)
    } else if shape.rank() == lane.len() {
        let lane: Lane = lane.iter().zip(shape.iter()).map(|(&at, &extent)| at.min(extent - 1)).collect();
        probe.element(result, &lane)
    } else {
        None
    };
    let warning = match number {
        Some(number) if number.exact != as_number(scalar, number.value) => {
            warning.with_text(format!("{} wraps to {}", number.exact, as_number(scalar, number.value)))
        }
        _ => warning,
    };
    let warning = if access == data.span {
        warning
    } else {
        warning.with_label(access, "the address of this access depends on it")
    };
    warning.with_note(at).with_help("compute it in 64 bits: cast one of its operands first, `.to(tl.int64)`")
}

/// Whether an address is another than it would be if no offset wrapped.
fn wraps(address: Number) -> bool {
    address.wrapped_at.is_some() && i128::from(address.value as u64) != address.exact
}

/// The corners of a block.
fn corners(shape: &Shape) -> Vec<Lane> {
    let mut corners = vec![Lane::new()];
    for &extent in shape.iter() {
        let ends: &[u32] = if extent > 1 { &[extent - 1, 0] } else { &[0] };
        let longer = |corner: &Lane| {
            let corner = corner.clone();
            ends.iter().map(move |&end| corner.iter().copied().chain([end]).collect()).collect::<Vec<Lane>>()
        };
        corners = corners.iter().flat_map(longer).collect();
    }
    corners
}

/// The parameter that a pointer is made from by nothing but offsets, loops and changes of shape.
fn base(function: &Function, places: &Places, mut pointer: Value) -> Option<usize> {
    loop {
        pointer = match function.value(pointer).def {
            ValueDef::Param(index) => return Some(index as usize),
            ValueDef::RegionArg { region, index } => match &function.op(places.owner(region)?).op {
                Op::For { inits, .. } => *inits.get((index as usize).checked_sub(1)?)?,
                _ => return None,
            },
            ValueDef::Result { op, index } => match &function.op(op).op {
                Op::AddPointer { pointer, .. } => *pointer,
                Op::For { inits, .. } => inits[index as usize],
                Op::Splat { value }
                | Op::Broadcast { value }
                | Op::ExpandDims { value, .. }
                | Op::Reshape { value }
                | Op::Transpose { value, .. }
                | Op::Annotate { value, .. } => *value,
                _ => return None,
            },
        };
    }
}

fn collect(function: &Function, region: RegionId, accesses: &mut Vec<Access>) {
    for &op in &function.region(region).ops {
        match &function.op(op).op {
            Op::Load { pointer, mask, .. } => {
                accesses.push(Access { op, pointer: *pointer, mask: *mask, verb: "reads" });
            }
            Op::Store { pointer, mask, .. } | Op::AtomicRmw { pointer, mask, .. } => {
                accesses.push(Access { op, pointer: *pointer, mask: *mask, verb: "writes" });
            }
            Op::AtomicCas { pointer, .. } => {
                accesses.push(Access { op, pointer: *pointer, mask: None, verb: "writes" });
            }
            // Regions of other operations are functions of their operands' elements, or run nobody knows how often.
            Op::For { .. } | Op::If { .. } => {
                for inner in function.op(op).op.regions() {
                    collect(function, inner, accesses);
                }
            }
            _ => {}
        }
    }
}
