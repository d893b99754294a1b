//! Templates: the text of an inline assembly and its constraints, as LLVM writes them, to pieces that registers are put between.
//!
//! `min.f32 $0, $1, $2;` with `=f,f,f` has a result and two operands, each a register of 32 bits. A register holds one element, or,
//! of types below 32 bits, up to `pack` neighbours, the first in its lowest bits.

use tegula_ir::{Assembly, Element};
use tegula_ptx::{Class, Modifier, Register};

/// Why a template means nothing: the fact, and the remedy.
#[derive(Debug, PartialEq)]
pub(crate) struct Fault {
    pub message: String,
    pub help: Option<String>,
}

fn fault<T>(message: String, help: &str) -> Result<T, Fault> {
    Err(Fault { message, help: Some(help.to_owned()) })
}

/// Which register an operand is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// One of its own.
    Own(Class),
    /// That of a result, which the text reads before it writes it.
    Result(usize),
}

/// A text with places for registers.
#[derive(Debug)]
pub(crate) struct Template {
    pieces: Vec<Piece>,
    /// The registers of the results, in the order of the constraints.
    pub results: Vec<Class>,
    /// The registers of the operands.
    pub operands: Vec<Source>,
}

#[derive(Debug, PartialEq)]
enum Piece {
    Text(String),
    /// The register of a constraint, results first.
    Register(usize),
}

/// What a constraint may be.
const KINDS: &str =
    "registers are `r` and `f` (32 bits), `h` (16), `l` and `d` (64); results have a `=` before";

/// How many elements of a type share a register.
pub(crate) fn elements_of_register(element: Element, pack: usize) -> usize {
    (4 / element.bytes().min(4) as usize).min(pack)
}

impl Template {
    /// Reads the text and the constraints of an assembly, for results and operands of these types.
    pub fn new(assembly: &Assembly, results: &[Element], operands: &[Element]) -> Result<Template, Fault> {
        let mut template = Template { pieces: Vec::new(), results: Vec::new(), operands: Vec::new() };
        let given = assembly.constraints.split(',').map(str::trim).filter(|text| !text.is_empty());
        for constraint in given {
            template.constraint(constraint)?;
        }
        let pack = assembly.pack as usize;
        let wanted_results = registers(results, pack);
        let wanted_operands = registers(operands, pack);
        check_count("results", template.results.len(), wanted_results.len(), pack)?;
        check_count("operands", template.operands.len(), wanted_operands.len(), pack)?;
        for (&class, (element, elements)) in template.results.iter().zip(wanted_results) {
            check_width("result", class, element, elements)?;
        }
        for (&source, (element, elements)) in template.operands.iter().zip(wanted_operands) {
            check_width("operand", template.class(source), element, elements)?;
        }
        template.text(&assembly.text)?;
        Ok(template)
    }

    /// The class of the register of an operand.
    pub fn class(&self, source: Source) -> Class {
        match source {
            Source::Own(class) => class,
            Source::Result(index) => self.results[index],
        }
    }

    /// The text with registers in it, results first.
    pub fn filled(&self, registers: &[Register]) -> String {
        let piece = |piece: &Piece| match piece {
            Piece::Text(text) => text.clone(),
            Piece::Register(index) => registers[*index].to_string(),
        };
        self.pieces.iter().map(piece).collect()
    }

    fn constraint(&mut self, text: &str) -> Result<(), Fault> {
        // Nothing is kept in memory or flags across a text, so what it overwrites there is nobody's concern.
        if text.starts_with("~{") {
            return Ok(());
        }
        if text.starts_with('+') {
            return fault(
                format!("the constraint `{text}` is a result and an operand in one"),
                "write the result as such, and give the operand the number of the result: `=r,0`",
            );
        }
        if let Some(kind) = text.strip_prefix('=') {
            if !self.operands.is_empty() {
                let message = format!("the constraint `{text}` of a result stands after those of operands");
                return fault(message, "name all results first: `=r,=f,r,f`");
            }
            // Results never share a register with operands, so `&` says nothing new.
            let kind = kind.strip_prefix('&').unwrap_or(kind);
            self.results.push(class(kind, text)?);
            return Ok(());
        }
        let source = match text.parse::<usize>() {
            Ok(index) if index < self.results.len() => Source::Result(index),
            Ok(index) => {
                let message = format!("the constraint `{text}` ties an operand to result {index}");
                return fault(
                    format!("{message}, and there are {} results", self.results.len()),
                    "results count from 0",
                );
            }
            Err(_) => Source::Own(class(text, text)?),
        };
        self.operands.push(source);
        Ok(())
    }

    fn text(&mut self, text: &str) -> Result<(), Fault> {
        if text.contains('\0') {
            return fault("the text holds a zero byte".to_owned(), "leave it out");
        }
        check_registers(text)?;
        let count = self.results.len() + self.operands.len();
        let mut plain = String::new();
        let mut rest = text;
        while let Some(dollar) = rest.find('$') {
            plain.push_str(&rest[..dollar]);
            rest = &rest[dollar + 1..];
            if let Some(after) = rest.strip_prefix('$') {
                plain.push('$');
                rest = after;
                continue;
            }
            let braced = rest.strip_prefix('{').and_then(|inside| inside.split_once('}'));
            let (number, after) = match braced {
                Some(split) => split,
                None => rest.split_at(rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len())),
            };
            let Ok(index) = number.parse::<usize>() else {
                return fault(
                    "a `$` in the text stands before no number of a register".to_owned(),
                    "write `$0`, `$1`, ... for the registers of the constraints, and `$$` for a `$`",
                );
            };
            if index >= count {
                return fault(
                    format!("the text names `${index}`, but the constraints have {count} registers"),
                    "registers count from 0, those of the results first",
                );
            }
            self.pieces.push(Piece::Text(std::mem::take(&mut plain)));
            self.pieces.push(Piece::Register(index));
            rest = after;
        }
        plain.push_str(rest);
        check_scopes(text)?;
        self.pieces.push(Piece::Text(plain));
        Ok(())
    }
}

/// The class of registers that a constraint names.
fn class(kind: &str, constraint: &str) -> Result<Class, Fault> {
    match kind {
        "r" | "f" => Ok(Class::Bits32),
        "l" | "d" => Ok(Class::Bits64),
        "h" => Ok(Class::Bits16),
        "n" | "i" | "I" | "s" | "X" | "E" | "F" => {
            let message = format!("the constraint `{constraint}` asks for a number known at compile time");
            fault(message, "write the number into the text: an f-string puts it there")
        }
        "m" | "*m" => fault(
            format!("the constraint `{constraint}` asks for memory"),
            "pass a pointer as `l`, and access what is there by `[$1]`",
        ),
        _ => fault(format!("`{constraint}` is no constraint"), KINDS),
    }
}

/// The registers that values take, each with its elements.
fn registers(elements: &[Element], pack: usize) -> Vec<(Element, usize)> {
    let of = |&element: &Element| {
        let each = elements_of_register(element, pack);
        std::iter::repeat_n((element, each), pack.div_ceil(each))
    };
    elements.iter().flat_map(of).collect()
}

fn check_count(what: &str, given: usize, wanted: usize, pack: usize) -> Result<(), Fault> {
    if given == wanted {
        return Ok(());
    }
    let plural = if wanted == 1 { "" } else { "s" };
    let message =
        format!("the {what} take {wanted} register{plural}, but the constraints have {given} for them");
    let help = match pack {
        1 => "each element takes one constraint".to_owned(),
        _ => format!(
            "with `pack={pack}` each of {pack} elements takes a constraint; of types below 32 bits, as many as fit in 32 bits share one"
        ),
    };
    fault(message, &help)
}

fn check_width(what: &str, class: Class, element: Element, elements: usize) -> Result<(), Fault> {
    let wanted = element.bytes() as usize * 8 * elements;
    let bits = class.declared().bits() as usize;
    if wanted <= bits {
        return Ok(());
    }
    let message = format!("a register of {bits} bits does not hold the {wanted} bits of an {what}");
    fault(message, KINDS)
}

/// Refuses names that the compiler gives registers of its own, which the text would hide.
fn check_registers(text: &str) -> Result<(), Fault> {
    for (place, _) in text.match_indices('%') {
        let name = &text[place + 1..];
        let end = name.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(name.len());
        let (name, after) = name.split_at(end);
        let is_class = |class: &Class| name.strip_prefix(class.text());
        let digits = Class::ALL.iter().find_map(is_class);
        let numbered = digits.is_some_and(|digits| {
            digits.bytes().all(|byte| byte.is_ascii_digit()) && (!digits.is_empty() || after.starts_with('<'))
        });
        if numbered {
            return fault(
                format!("the text names `%{name}`, as registers of the compiler are named"),
                "declare registers of the text under names without `%`: `.reg .b32 t;`",
            );
        }
    }
    Ok(())
}

/// Refuses a text that would reach beyond itself: with a brace or a comment that is left open.
fn check_scopes(text: &str) -> Result<(), Fault> {
    let mut depth = 0u32;
    let mut rest = text;
    let unbalanced =
        || fault("the braces of the text are not balanced".to_owned(), "close each that is opened");
    while let Some(place) = rest.find(['{', '}', '/', '"']) {
        let (mark, after) = (rest.as_bytes()[place], &rest[place + 1..]);
        rest = match (mark, after.as_bytes().first()) {
            (b'{', _) => {
                depth += 1;
                after
            }
            (b'}', _) if depth == 0 => return unbalanced(),
            (b'}', _) => {
                depth -= 1;
                after
            }
            (b'/', Some(b'/')) => &after[after.find('\n').unwrap_or(after.len())..],
            (b'/', Some(b'*')) => match after[1..].split_once("*/") {
                Some((_, after)) => after,
                None => return fault("a comment of the text has no end".to_owned(), "end it by `*/`"),
            },
            (b'"', _) => match after.split_once('"') {
                Some((_, after)) => after,
                None => return fault("a string of the text has no end".to_owned(), "end it by `\"`"),
            },
            _ => after,
        };
    }
    if depth == 0 { Ok(()) } else { unbalanced() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tegula_ir::Scalar;

    fn template(
        text: &str,
        constraints: &str,
        pack: u32,
        results: &[Scalar],
        operands: &[Scalar],
    ) -> Result<Template, Fault> {
        let assembly = Assembly { text: text.into(), constraints: constraints.into(), pack, pure: true };
        let elements =
            |scalars: &[Scalar]| scalars.iter().map(|&one| Element::from(one)).collect::<Vec<Element>>();
        Template::new(&assembly, &elements(results), &elements(operands))
    }

    #[test]
    fn registers_take_the_places_of_numbers() {
        let text = "{ add.f32 $0, $1, ${2}; } // $$0, $10";
        assert!(template(text, "=f,f,f", 1, &[Scalar::Float32], &[Scalar::Float32; 2]).is_err());
        let template = template(
            &text[..text.len() - 5],
            "=&f, f, f, ~{memory}",
            1,
            &[Scalar::Float32],
            &[Scalar::Float32; 2],
        )
        .unwrap();
        let registers: Vec<Register> =
            (7..10).map(|index| Register { class: Class::Bits32, index }).collect();
        assert_eq!(template.filled(&registers), "{ add.f32 %r7, %r8, %r9; } // $0");
    }

    #[test]
    fn narrow_elements_share_registers() {
        let halves = template("", "=r,=r,r,r", 4, &[Scalar::Float16], &[Scalar::Int16]).unwrap();
        assert_eq!((halves.results.len(), halves.operands.len()), (2, 2));
        // Eight bytes in two registers, eight words in eight.
        let bytes = "=r,=r,r,r,r,r,r,r,r,r";
        assert!(template("", bytes, 8, &[Scalar::UInt8], &[Scalar::Float32]).is_ok());
        assert!(template("", "=h,l", 2, &[Scalar::UInt8], &[Scalar::Int16]).is_ok());
        assert!(template("", "=h,0", 1, &[Scalar::Float16], &[Scalar::Int8]).is_ok());
    }

    #[test]
    fn faults_say_what_is_wrong() {
        let (word, double) = ([Scalar::Int32], [Scalar::Int64]);
        let cases: &[(&str, &str, u32, &[Scalar], &str)] = &[
            ("", "=r", 1, &word, "the operands take 1 register, but the constraints have 0 for them"),
            ("", "=r,r,r", 1, &word, "the operands take 1 register, but the constraints have 2 for them"),
            ("", "r", 1, &word, "the results take 1 register, but the constraints have 0 for them"),
            ("", "=r,=r,r", 2, &word, "the operands take 2 registers, but the constraints have 1 for them"),
            ("", "=r,r", 1, &double, "a register of 32 bits does not hold the 64 bits of an operand"),
            ("", "r,=r", 1, &word, "the constraint `=r` of a result stands after those of operands"),
            ("", "=r,n", 1, &word, "the constraint `n` asks for a number known at compile time"),
            ("", "=r,1", 1, &word, "the constraint `1` ties an operand to result 1, and there are 1 results"),
            ("", "+r", 1, &[], "the constraint `+r` is a result and an operand in one"),
            ("", "=x,r", 1, &word, "`=x` is no constraint"),
            ("", "=r,m", 1, &word, "the constraint `m` asks for memory"),
            (
                "mov.b32 $0, $2;",
                "=r,r",
                1,
                &word,
                "the text names `$2`, but the constraints have 2 registers",
            ),
            ("mov.b32 $0, $x;", "=r,r", 1, &word, "a `$` in the text stands before no number of a register"),
            (
                ".reg .b32 %r<4>;",
                "=r,r",
                1,
                &word,
                "the text names `%r`, as registers of the compiler are named",
            ),
            (
                "mov.b32 $0, %r1;",
                "=r,r",
                1,
                &word,
                "the text names `%r1`, as registers of the compiler are named",
            ),
            ("{ mov.b32 $0, $1;", "=r,r", 1, &word, "the braces of the text are not balanced"),
            ("} {", "=r,r", 1, &word, "the braces of the text are not balanced"),
            ("/* {", "=r,r", 1, &word, "a comment of the text has no end"),
        ];
        for &(text, constraints, pack, operands, expected) in cases {
            let fault = template(text, constraints, pack, &[Scalar::Int32], operands).unwrap_err();
            assert_eq!(fault.message, expected);
        }
        for text in
            ["mov.u32 $0, %laneid; // }", "mov.u64 $0, %pm0;", "/* { */ mov.u32 $0, %dynamic_smem_size;"]
        {
            assert!(template(text, "=r", 1, &[Scalar::Int32], &[]).is_ok(), "{text}");
        }
    }
}
