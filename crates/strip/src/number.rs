//! The arithmetic of the element types that processors have: integers of 8 to 64 bits, fp32 and fp64.
//!
//! The semantics are those of [`tegula_ir::BinaryOp`]: integers wrap, division by zero gives 0.

/// An element type with arithmetic and an order.
pub(super) trait Number: Copy + Default + PartialEq + PartialOrd + 'static {
    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    fn mul(self, other: Self) -> Self;
    fn div(self, other: Self) -> Self;
    fn rem(self, other: Self) -> Self;
    /// The other operand where one is NaN.
    fn min(self, other: Self) -> Self;
    fn max(self, other: Self) -> Self;
    /// NaN where either operand is.
    fn min_nan(self, other: Self) -> Self;
    fn max_nan(self, other: Self) -> Self;
    fn is_nan(self) -> bool;
    fn abs(self) -> Self;
    /// The bits, zero-extended (sign-extended, of a signed integer).
    fn to_bits64(self) -> u64;
    /// The number of an element in its strip, wrapped.
    fn from_index(index: usize) -> Self;
}

/// An integer element type.
pub(super) trait Integer: Number {
    fn and(self, other: Self) -> Self;
    fn or(self, other: Self) -> Self;
    fn xor(self, other: Self) -> Self;
    /// Shifts by the width or more give 0.
    fn shl(self, other: Self) -> Self;
    /// Shifts by the width or more give 0, or the sign.
    fn shr(self, other: Self) -> Self;
    /// The upper half of the double-width product.
    fn mul_high(self, other: Self) -> Self;
    fn not(self) -> Self;
    fn popcount(self) -> Self;
    fn leading_zeros(self) -> Self;
    fn reverse_bits(self) -> Self;
}

macro_rules! integer {
    (
        $type:ty, wide: $wide:ty, unsigned: $unsigned:ty,
        abs: $abs:expr, shifted_out: $shifted_out:expr, quotient: $quotient:expr
    ) => {
        impl Number for $type {
            #[inline(always)]
            fn add(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            #[inline(always)]
            fn sub(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }
            #[inline(always)]
            fn mul(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }
            #[inline(always)]
            fn div(self, other: Self) -> Self {
                let quotient = $quotient(self, if other == 0 { 1 } else { other });
                if other == 0 { 0 } else { quotient }
            }
            #[inline(always)]
            fn rem(self, other: Self) -> Self {
                let quotient: Self = $quotient(self, if other == 0 { 1 } else { other });
                if other == 0 { 0 } else { self.wrapping_sub(quotient.wrapping_mul(other)) }
            }
            #[inline(always)]
            fn min(self, other: Self) -> Self {
                Ord::min(self, other)
            }
            #[inline(always)]
            fn max(self, other: Self) -> Self {
                Ord::max(self, other)
            }
            #[inline(always)]
            fn min_nan(self, other: Self) -> Self {
                Ord::min(self, other)
            }
            #[inline(always)]
            fn max_nan(self, other: Self) -> Self {
                Ord::max(self, other)
            }
            #[inline(always)]
            fn is_nan(self) -> bool {
                false
            }
            #[inline(always)]
            fn abs(self) -> Self {
                $abs(self)
            }
            #[inline(always)]
            fn to_bits64(self) -> u64 {
                self as u64
            }
            #[inline(always)]
            fn from_index(index: usize) -> Self {
                index as Self
            }
        }

        impl Integer for $type {
            #[inline(always)]
            fn and(self, other: Self) -> Self {
                self & other
            }
            #[inline(always)]
            fn or(self, other: Self) -> Self {
                self | other
            }
            #[inline(always)]
            fn xor(self, other: Self) -> Self {
                self ^ other
            }
            #[inline(always)]
            fn shl(self, other: Self) -> Self {
                let shifted = self.wrapping_shl(other as u32);
                if (other as $unsigned) < Self::BITS as $unsigned { shifted } else { 0 }
            }
            #[inline(always)]
            fn shr(self, other: Self) -> Self {
                let shifted = self.wrapping_shr(other as u32);
                if (other as $unsigned) < Self::BITS as $unsigned { shifted } else { $shifted_out(self) }
            }
            #[inline(always)]
            fn mul_high(self, other: Self) -> Self {
                ((self as $wide).wrapping_mul(other as $wide) >> Self::BITS) as Self
            }
            #[inline(always)]
            fn not(self) -> Self {
                !self
            }
            #[inline(always)]
            fn popcount(self) -> Self {
                self.count_ones() as Self
            }
            #[inline(always)]
            fn leading_zeros(self) -> Self {
                <$type>::leading_zeros(self) as Self
            }
            #[inline(always)]
            fn reverse_bits(self) -> Self {
                <$type>::reverse_bits(self)
            }
        }
    };
}

// Quotients of integers of at most 32 bits come from a float division, which is vectorised: a quotient that
// is no integer is farther from the next one, relatively, than the float's rounding, so truncation is exact.
integer!(
    i8, wide: i16, unsigned: u8, abs: i8::wrapping_abs, shifted_out: |x: i8| x >> 7,
    quotient: |a: i8, b: i8| truncated(a as f32 / b as f32) as i8
);
integer!(
    i16, wide: i32, unsigned: u16, abs: i16::wrapping_abs, shifted_out: |x: i16| x >> 15,
    quotient: |a: i16, b: i16| truncated(a as f32 / b as f32) as i16
);
integer!(
    i32, wide: i64, unsigned: u32, abs: i32::wrapping_abs, shifted_out: |x: i32| x >> 31,
    quotient: |a: i32, b: i32| {
        // The one quotient that no i32 holds wraps.
        let numerator = if b == -1 { 0 } else { a };
        // SAFETY: the divisor is not 0, so the quotient is no larger than the numerator, and in range.
        let quotient = unsafe { (numerator as f64 / b as f64).to_int_unchecked::<i32>() };
        if b == -1 { a.wrapping_neg() } else { quotient }
    }
);
integer!(
    i64, wide: i128, unsigned: u64, abs: i64::wrapping_abs, shifted_out: |x: i64| x >> 63,
    quotient: i64::wrapping_div
);
integer!(
    u8, wide: u16, unsigned: u8, abs: std::convert::identity, shifted_out: |_| 0,
    quotient: |a: u8, b: u8| truncated(a as f32 / b as f32) as u8
);
integer!(
    u16, wide: u32, unsigned: u16, abs: std::convert::identity, shifted_out: |_| 0,
    quotient: |a: u16, b: u16| truncated(a as f32 / b as f32) as u16
);
integer!(
    u32, wide: u64, unsigned: u32, abs: std::convert::identity, shifted_out: |_| 0,
    // SAFETY: the divisor is not 0, so the quotient is no larger than the numerator, and in range.
    quotient: |a: u32, b: u32| unsafe { (a as f64 / b as f64).to_int_unchecked::<u32>() }
);
integer!(
    u64, wide: u128, unsigned: u64, abs: std::convert::identity, shifted_out: |_| 0,
    quotient: u64::wrapping_div
);

/// The whole part of a quotient of integers of at most 16 bits.
#[inline(always)]
fn truncated(quotient: f32) -> i32 {
    // SAFETY: the divisor is not 0, so the quotient is no larger than the numerator, and in range.
    unsafe { quotient.to_int_unchecked::<i32>() }
}

macro_rules! float {
    ($type:ty, remainder: $remainder:path) => {
        impl Number for $type {
            #[inline(always)]
            fn add(self, other: Self) -> Self {
                self + other
            }
            #[inline(always)]
            fn sub(self, other: Self) -> Self {
                self - other
            }
            #[inline(always)]
            fn mul(self, other: Self) -> Self {
                self * other
            }
            #[inline(always)]
            fn div(self, other: Self) -> Self {
                self / other
            }
            #[inline(always)]
            fn rem(self, other: Self) -> Self {
                $remainder(self, other)
            }
            #[inline(always)]
            fn min(self, other: Self) -> Self {
                let least = if self < other { self } else { other };
                if <$type>::is_nan(other) { self } else { least }
            }
            #[inline(always)]
            fn max(self, other: Self) -> Self {
                let greatest = if self > other { self } else { other };
                if <$type>::is_nan(other) { self } else { greatest }
            }
            #[inline(always)]
            fn min_nan(self, other: Self) -> Self {
                let least = if self < other { self } else { other };
                if <$type>::is_nan(self) { self } else { least }
            }
            #[inline(always)]
            fn max_nan(self, other: Self) -> Self {
                let greatest = if self > other { self } else { other };
                if <$type>::is_nan(self) { self } else { greatest }
            }
            #[inline(always)]
            fn is_nan(self) -> bool {
                <$type>::is_nan(self)
            }
            #[inline(always)]
            fn abs(self) -> Self {
                <$type>::abs(self)
            }
            #[inline(always)]
            fn to_bits64(self) -> u64 {
                self.to_bits() as u64
            }
            #[inline(always)]
            fn from_index(index: usize) -> Self {
                index as Self
            }
        }
    };
}

float!(f32, remainder: libm::fmodf);
float!(f64, remainder: libm::fmod);
