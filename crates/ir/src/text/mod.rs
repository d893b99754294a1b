//! The text form: what `tegula compile --emit ir` prints, and what tests of passes are written in.
//!
//! ```text
//! kernel @vector_add(%x_ptr: *fp32 {divisible 16}, %n: i32) {
//!   %0 = program_id 0 : i32
//!   %1 = constant 1024 : i32
//!   %2 = mul %0, %1 : i32
//!   %3 = arange 0..1024 : <1024xi32>
//!   %4 = splat %2 : <1024xi32>
//!   %5 = add %4, %3 : <1024xi32>
//!   %6 = splat %x_ptr : <1024x*fp32>
//!   %7 = add_pointer %6, %5 : <1024x*fp32>
//!   %8 = splat %n : <1024xi32>
//!   %9 = compare lt %5, %8 : <1024xi1>
//!   %10 = load %7 mask %9 : <1024xfp32>
//!   store %7, %10 mask %9
//! }
//! ```
//!
//! A line is results, name, operands, attributes, and the results' types after a colon. Arguments of regions have no
//! types of their own: they follow from the operands. Parameters keep their names; every other value is
//! numbered where it first stands, so two functions that differ only in identifiers print alike, and printing,
//! parsing and printing again gives the same text. Names that are no plain identifiers are quoted: `%"x.0"`.
//! `//` starts a comment.
//!
//! Floats are written with the fewest digits that tell them from their neighbours of the same type; NaN is `nan`,
//! whatever its bits were. Source spans are left out, unless the alternate form `{:#}` is asked for: then each
//! operation ends in `loc(file:start:end)`, in bytes of the file with that number.

mod parse;
mod print;

pub use parse::ParseError;

/// Whether a name can stand in the text without quotes.
fn is_plain(name: &str) -> bool {
    let mut characters = name.chars();
    characters.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && characters.all(|c| c.is_ascii_alphanumeric() || c == '_')
}
