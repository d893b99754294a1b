//! Inline assembly: a text of the user for each group of elements, with registers in its places.
//!
//! A group is as many neighbouring registers of a thread as the text takes; the last one is filled up with copies of its last element.
//! Threads that hold copies of elements run the text for theirs, too. A text with effects does not run where no element of its
//! group is in the block; those of the group that are outside give way to one inside.

use super::element::class_of;
use super::emit::fails;
use super::{Lowering, Registers, Result};
use crate::template::{Source, Template, elements_of_register};
use rustc_hash::FxHashMap;
use tegula_ir::{Assembly, Diagnostic, Element, OpId, Scalar, Value};
use tegula_ptx::{Class, Operand, Register, Statement, Type};

/// One register an element, for each operand or result.
type Groups = Vec<Vec<Register>>;

impl Lowering<'_> {
    pub(super) fn inline_assembly(&mut self, id: OpId, assembly: &Assembly, values: &[Value]) -> Result<()> {
        let results = self.function.op(id).results.clone();
        let elements = |values: &[Value]| values.iter().map(|&value| self.element(value)).collect();
        let (result_types, operand_types): (Vec<Element>, Vec<Element>) =
            (elements(&results), elements(values));
        let template = Template::new(assembly, &result_types, &operand_types).map_err(|fault| {
            let mut error = Diagnostic::error(self.span, fault.message);
            error.help = fault.help;
            Box::new(error)
        })?;
        let scalar = self.is_scalar(results[0]);
        let home = if scalar { None } else { self.layouts.home_of(results[0]) };
        let operands: Vec<Registers> = (values.iter())
            .map(|&value| match home {
                Some(home) => self.block(value, home),
                None => [self.scalar(value)].into(),
            })
            .collect();
        let count = home.map_or(1, |home| self.layouts.set.registers(home));
        let inside = match home {
            Some(home) if !assembly.pure => {
                let shape = self.function.ty(results[0]).shape.clone();
                self.inside(home, &shape)
            }
            _ => vec![None; count],
        };
        let pack = assembly.pack as usize;
        let mut columns: Groups = vec![Vec::with_capacity(count); results.len()];
        let mut known: FxHashMap<Groups, Groups> = FxHashMap::default();
        for start in (0..count).step_by(pack) {
            let places: Vec<usize> = (start..start + pack).map(|place| place.min(count - 1)).collect();
            let mut group: Groups =
                operands.iter().map(|operand| places.iter().map(|&place| operand[place]).collect()).collect();
            let within: Vec<Option<Register>> = places.iter().map(|&place| inside[place]).collect();
            let outcome = match known.get(&group) {
                Some(outcome) => outcome.clone(),
                None => {
                    let arguments = group.clone();
                    let guard = self.keep_inside(&within, &mut group);
                    let outcome =
                        self.run_text(&template, &result_types, &operand_types, &group, pack, guard);
                    if assembly.pure {
                        known.insert(arguments, outcome.clone());
                    }
                    outcome
                }
            };
            for (column, elements) in columns.iter_mut().zip(outcome) {
                column.extend(elements.into_iter().take(count - start));
            }
        }
        for (&result, column) in results.iter().zip(columns) {
            match home {
                Some(home) => self.define_block(result, home, column)?,
                None => {
                    self.scalars.insert(result, column[0]);
                }
            }
        }
        Ok(())
    }

    /// Puts an element that is inside of the block in the place of those of a group that are not. Whether there is one; `None` if
    /// all are.
    fn keep_inside(&mut self, within: &[Option<Register>], group: &mut Groups) -> Option<Register> {
        let mut any = within[0]?;
        for &inside in &within[1..] {
            let inside = inside?;
            if inside != any {
                any = self.code.math(tegula_ptx::MathOp::Or, Type::Pred, &[any.into(), inside.into()]);
            }
        }
        for elements in group {
            let mut inner = elements[0];
            for (&element, inside) in elements.iter().zip(within).skip(1) {
                inner = self.inner_of(*inside, element, inner);
            }
            for (element, inside) in elements.iter_mut().zip(within) {
                *element = self.inner_of(*inside, *element, inner);
            }
        }
        Some(any)
    }

    /// One register where a predicate holds, or is none; else the other.
    fn inner_of(&mut self, predicate: Option<Register>, yes: Register, no: Register) -> Register {
        match predicate {
            Some(predicate) if yes != no => {
                self.code.select(yes.class.declared(), predicate, yes.into(), no.into())
            }
            _ => yes,
        }
    }

    /// Runs the text for one group of elements, where the guard holds; elsewhere the results are zero.
    fn run_text(
        &mut self,
        template: &Template,
        result_types: &[Element],
        operand_types: &[Element],
        group: &Groups,
        pack: usize,
        guard: Option<Register>,
    ) -> Groups {
        let outputs: Vec<Register> = template.results.iter().map(|&class| self.code.fresh(class)).collect();
        let mut registers = outputs.clone();
        let mut sources = template.operands.iter();
        for (&element, elements) in operand_types.iter().zip(group) {
            for part in elements.chunks(elements_of_register(element, pack)) {
                let &source = sources.next().expect("the template was checked");
                let word = self.joined(element, part, template.class(source));
                registers.push(match source {
                    Source::Own(_) => word,
                    Source::Result(index) => {
                        self.code.assign(outputs[index], word);
                        outputs[index]
                    }
                });
            }
        }
        let end = guard.map(|guard| {
            let tied = |index: usize| template.operands.contains(&Source::Result(index));
            for (index, &output) in outputs.iter().enumerate() {
                if !tied(index) {
                    self.code.assign(output, Operand::Integer(0));
                }
            }
            let end = self.code.label();
            self.code.branch(Some(fails(guard)), end, false);
            end
        });
        self.texts.push(self.span);
        self.code.function.body.push(Statement::Verbatim(template.filled(&registers)));
        if let Some(end) = end {
            self.code.place(end);
        }
        let mut outputs = outputs.into_iter();
        (result_types.iter())
            .map(|&element| {
                let each = elements_of_register(element, pack);
                let mut elements = Vec::with_capacity(pack);
                while elements.len() < pack {
                    let register = outputs.next().expect("the template was checked");
                    let part = self.parted(element, register, each);
                    elements.extend(part);
                }
                elements.truncate(pack);
                elements
            })
            .collect()
    }

    /// Neighbouring elements in one register of a class, the first lowest.
    fn joined(&mut self, element: Element, elements: &[Register], class: Class) -> Register {
        let (register, signed) = match *elements {
            [single] => {
                let signed = element.as_scalar().is_some_and(Scalar::is_signed);
                (self.movable(element, single), signed)
            }
            _ => {
                let mut filled = elements.to_vec();
                let last = *elements.last().expect("a group is not empty");
                filled.resize(4 / element.bytes() as usize, last);
                (self.pack_words(element, &filled)[0], false)
            }
        };
        self.resized(register, class, signed)
    }

    /// The inverse of [`Lowering::joined`].
    fn parted(&mut self, element: Element, register: Register, count: usize) -> Vec<Register> {
        match element.bytes() {
            8 => vec![self.resized(register, Class::Bits64, false)],
            4 => vec![self.resized(register, Class::Bits32, false)],
            _ if count == 1 && register.class == class_of(element) && register.class == Class::Bits16 => {
                vec![register]
            }
            _ => {
                let word = self.resized(register, Class::Bits32, false);
                let mut elements = self.unpack_words(element, &[word]);
                elements.truncate(count);
                elements
            }
        }
    }

    /// The number in a register as one of another width: cut, or extended.
    fn resized(&mut self, register: Register, class: Class, signed: bool) -> Register {
        let integer = |class: Class| match (class, signed) {
            (Class::Bits16, true) => Type::S16,
            (Class::Bits16, false) => Type::U16,
            (Class::Bits64, true) => Type::S64,
            (Class::Bits64, false) => Type::U64,
            (_, true) => Type::S32,
            (_, false) => Type::U32,
        };
        if register.class == class {
            return register;
        }
        self.code.convert(integer(class), integer(register.class), None, register)
    }
}
