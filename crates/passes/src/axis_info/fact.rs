//! The facts of a value, and how they weaken.

use smallvec::{SmallVec, smallvec};
use tegula_ir::{Element, Literal, Type};

/// The length of aligned runs along a dimension, or `WHOLE` if the dimension is one run.
pub(super) type Run = u32;

/// A run that spans its dimension, whatever the extent. As a number, 0 is a multiple of every length: so the greatest
/// common divisor of two runs is the longest run that both consist of.
pub(super) const WHOLE: Run = 0;

/// What divides 0: every power of two.
const ALL: u64 = 1 << 63;

/// What is known of a dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Axis {
    pub extent: u32,
    pub contiguity: Run,
    pub constancy: Run,
    /// A power of two.
    pub divisor: u64,
}

impl Axis {
    fn unknown(extent: u32) -> Axis {
        // A single element is a run of its own.
        let run = if extent == 1 { WHOLE } else { 1 };
        Axis { extent, contiguity: run, constancy: run, divisor: 1 }
    }

    /// Whether a run of consecutive elements is no longer than one element.
    fn is_single(self) -> bool {
        self.contiguity == 1 || self.extent == 1
    }

    /// What divides the first element of each run of a length that divides the contiguity.
    pub fn divisor_at(self, run: Run, unit: u64) -> u64 {
        if run == self.contiguity || self.is_single() {
            return self.divisor;
        }
        // Such a run starts a multiple of its length after the start of a longer one.
        self.divisor.min(power_of_two_in(run.into()).saturating_mul(unit))
    }
}

/// What is known of the elements of a value: see the module's documentation for what the facts mean.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AxisInfo {
    pub(super) axes: SmallVec<[Axis; 3]>,
    /// The number that every element equals.
    pub(super) constant: Option<i64>,
    /// Whether every element is known to be at least 0.
    pub(super) non_negative: bool,
    /// What one step of a contiguous run adds: 1, or the bytes that a pointer steps over.
    pub(super) unit: u64,
}

impl AxisInfo {
    /// Nothing known.
    pub(super) fn unknown(ty: &Type) -> AxisInfo {
        let axes = match &*ty.shape {
            [] => smallvec![Axis::unknown(1)],
            extents => extents.iter().map(|&extent| Axis::unknown(extent)).collect(),
        };
        let (unit, non_negative) = match ty.element {
            Element::Pointer(pointer) => (pointer.target().bytes().into(), false),
            Element::Scalar(scalar) => (1, scalar.is_unsigned()),
        };
        AxisInfo { axes, constant: None, non_negative, unit }
    }

    /// Elements that are all equal.
    pub(super) fn equal(ty: &Type, scalar: &AxisInfo) -> AxisInfo {
        let mut info = AxisInfo::unknown(ty);
        info.constant = scalar.constant;
        info.non_negative |= scalar.non_negative;
        info.axes.iter_mut().for_each(|axis| axis.constancy = WHOLE);
        info.set_divisor(scalar.every());
        info
    }

    pub(super) fn literal(ty: &Type, literal: Literal) -> AxisInfo {
        let mut info = AxisInfo::unknown(ty);
        if let Literal::Int(value) = literal {
            info.constant = Some(value);
            info.non_negative |= value >= 0;
            info.set_divisor(power_of_two_in(value as u64));
        }
        info
    }

    /// The index of a loop.
    pub(super) fn index(lower: &AxisInfo, step: &AxisInfo) -> AxisInfo {
        let mut info = lower.clone();
        info.constant = None;
        // Counting up, the index stays between its bounds.
        info.non_negative = lower.non_negative && step.constant.is_some_and(|step| step > 0);
        info.set_divisor(lower.every().min(step.every()));
        info
    }

    pub(super) fn set_divisor(&mut self, divisor: u64) {
        self.axes.iter_mut().for_each(|axis| axis.divisor = power_of_two_in(divisor));
    }

    /// What divides every element.
    pub(crate) fn every(&self) -> u64 {
        let along =
            |axis: &Axis| if axis.is_single() { axis.divisor } else { axis.divisor.min(self.unit_divisor()) };
        self.axes.iter().map(along).max().unwrap_or(1)
    }

    pub(super) fn unit_divisor(&self) -> u64 {
        power_of_two_in(self.unit)
    }

    /// What holds of both.
    pub(super) fn meet(&self, other: &AxisInfo) -> AxisInfo {
        let unit = self.unit_divisor();
        let axes = self.axes.iter().zip(&other.axes).map(|(a, b)| {
            let contiguity = gcd(a.contiguity, b.contiguity);
            let divisor = a.divisor_at(contiguity, unit).min(b.divisor_at(contiguity, unit));
            Axis { extent: a.extent, contiguity, constancy: gcd(a.constancy, b.constancy), divisor }
        });
        AxisInfo {
            axes: axes.collect(),
            constant: self.constant.filter(|_| self.constant == other.constant),
            non_negative: self.non_negative && other.non_negative,
            unit: self.unit,
        }
    }

    /// The length of aligned runs along a dimension in which each element is one more than the last (for pointers, one
    /// element further); at most the extent.
    pub fn contiguity(&self, dimension: usize) -> u32 {
        clamp(self.axes[dimension].contiguity, self.axes[dimension].extent)
    }

    /// The length of aligned runs along a dimension in which all elements are equal; at most the extent.
    pub fn constancy(&self, dimension: usize) -> u32 {
        clamp(self.axes[dimension].constancy, self.axes[dimension].extent)
    }

    /// A power of two that divides the first element of each contiguous run along a dimension (for pointers, the address
    /// in bytes). 2^63 for 0.
    pub fn divisibility(&self, dimension: usize) -> u64 {
        self.axes[dimension].divisor
    }

    /// The number that every element equals, if it is known. As literals are: `u64` keeps its bits.
    pub fn constant(&self) -> Option<i64> {
        self.constant
    }

    /// Whether every element is known to be at least 0.
    pub fn is_non_negative(&self) -> bool {
        self.non_negative
    }

    /// How many neighbours along a dimension one access can take: the longest power of two of elements that, wherever an
    /// aligned run of them starts, follow each other from an address that is a multiple of their size.
    ///
    /// This is about pointers; of integers, it is how many follow each other from a multiple of their number.
    pub fn vector_width(&self, dimension: usize) -> u32 {
        let axis = self.axes[dimension];
        let elements = (axis.divisor / self.unit).clamp(1, 1 << 31);
        let run = match axis.contiguity {
            // Shorter vectors start within the dimension, at multiples of their own length.
            WHOLE => power_of_two_in(u64::from(axis.extent)),
            run => power_of_two_in(u64::from(run)),
        };
        elements.min(run).max(1) as u32
    }
}

fn clamp(run: Run, extent: u32) -> u32 {
    if run == WHOLE { extent } else { run.min(extent) }
}

/// Greatest common divisor; of 0 and x, x.
pub(super) fn gcd(a: Run, b: Run) -> Run {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// The greatest power of two that divides a number.
pub(super) fn power_of_two_in(number: u64) -> u64 {
    if number == 0 { ALL } else { number & number.wrapping_neg() }
}
