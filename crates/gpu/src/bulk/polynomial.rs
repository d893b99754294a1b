//! Polynomials with integer coefficients, in which addresses are compared.
//!
//! ```text
//! pid * 128 * stride + n * 64    { [pid, stride]: 128, [n]: 64 }
//! ```

use std::collections::BTreeMap;
use tegula_ir::Value;

/// What a polynomial is a polynomial of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Symbol {
    /// A scalar integer from outside of the loop.
    Value(Value),
    /// The iterations of the loop that have passed.
    Iteration,
    /// The first index of a block of indices that wrap around, by its number.
    Wrapped(u32),
}

/// A product of symbols, in order.
pub(crate) type Monomial = Vec<Symbol>;

/// A sum of products of symbols, none with the coefficient 0.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Polynomial {
    terms: BTreeMap<Monomial, i64>,
}

impl Polynomial {
    pub fn constant(value: i64) -> Polynomial {
        Polynomial::term(Vec::new(), value)
    }

    pub fn symbol(symbol: Symbol) -> Polynomial {
        Polynomial::term(vec![symbol], 1)
    }

    fn term(monomial: Monomial, coefficient: i64) -> Polynomial {
        let mut sum = Polynomial::default();
        sum.add_term(monomial, coefficient);
        sum
    }

    fn add_term(&mut self, monomial: Monomial, coefficient: i64) {
        let sum = self.terms.get(&monomial).copied().unwrap_or(0).wrapping_add(coefficient);
        match sum {
            0 => self.terms.remove(&monomial),
            _ => self.terms.insert(monomial, sum),
        };
    }

    pub fn terms(&self) -> impl Iterator<Item = (&Monomial, i64)> {
        self.terms.iter().map(|(monomial, &coefficient)| (monomial, coefficient))
    }

    pub fn is_zero(&self) -> bool {
        self.terms.is_empty()
    }

    /// The value of a polynomial without symbols.
    pub fn as_constant(&self) -> Option<i64> {
        match self.terms.len() {
            0 => Some(0),
            1 => self.terms.get(&Vec::new()).copied(),
            _ => None,
        }
    }

    pub fn plus(&self, other: &Polynomial) -> Polynomial {
        let mut sum = self.clone();
        other.terms().for_each(|(monomial, coefficient)| sum.add_term(monomial.clone(), coefficient));
        sum
    }

    pub fn minus(&self, other: &Polynomial) -> Polynomial {
        self.plus(&other.times(&Polynomial::constant(-1)))
    }

    pub fn times(&self, other: &Polynomial) -> Polynomial {
        let mut product = Polynomial::default();
        for (left, a) in self.terms() {
            for (right, b) in other.terms() {
                let mut monomial: Monomial = left.iter().chain(right).copied().collect();
                monomial.sort_unstable();
                product.add_term(monomial, a.wrapping_mul(b));
            }
        }
        product
    }

    /// `(quotient, remainder)` of the division by a polynomial of one term: the terms that it divides, divided, and the others.
    pub fn divided_by(&self, divisor: &Polynomial) -> Option<(Polynomial, Polynomial)> {
        let mut terms = divisor.terms();
        let (Some((factor, scale)), None) = (terms.next(), terms.next()) else { return None };
        let (mut quotient, mut remainder) = (Polynomial::default(), Polynomial::default());
        for (monomial, coefficient) in self.terms() {
            match without(monomial, factor) {
                Some(rest) if coefficient % scale == 0 => quotient.add_term(rest, coefficient / scale),
                _ => remainder.add_term(monomial.clone(), coefficient),
            }
        }
        Some((quotient, remainder))
    }

    /// `(rest, step)` where this is `rest + step * symbol`, and neither has the symbol.
    pub fn linear_in(&self, symbol: Symbol) -> Option<(Polynomial, Polynomial)> {
        let (step, rest) = self.divided_by(&Polynomial::symbol(symbol))?;
        let is_linear = !step.has(symbol) && !rest.has(symbol);
        is_linear.then_some((rest, step))
    }

    pub fn has(&self, symbol: Symbol) -> bool {
        self.terms.keys().any(|monomial| monomial.contains(&symbol))
    }

    /// Whether all coefficients are multiples of a number.
    pub fn is_multiple_of(&self, number: i64) -> bool {
        self.terms.values().all(|coefficient| coefficient % number == 0)
    }
}

/// A monomial without the symbols of another.
fn without(monomial: &Monomial, factor: &Monomial) -> Option<Monomial> {
    let mut rest = monomial.clone();
    for symbol in factor {
        let place = rest.iter().position(|other| other == symbol)?;
        rest.remove(place);
    }
    Some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_cancel_and_divide() {
        let [x, y] = [0, 1].map(|number| Polynomial::symbol(Symbol::Wrapped(number)));
        let n = Polynomial::symbol(Symbol::Iteration);
        let sum = x.times(&y).times(&Polynomial::constant(128)).plus(&n.times(&Polynomial::constant(64)));
        assert_eq!(sum.minus(&sum).as_constant(), Some(0));
        let (quotient, remainder) = sum.divided_by(&y).expect("one term divides");
        assert_eq!(quotient, x.times(&Polynomial::constant(128)));
        assert_eq!(remainder, n.times(&Polynomial::constant(64)));
        let (rest, step) = sum.linear_in(Symbol::Iteration).expect("it is linear");
        assert_eq!((rest, step.as_constant()), (x.times(&y).times(&Polynomial::constant(128)), Some(64)));
        assert!(n.times(&n).linear_in(Symbol::Iteration).is_none());
    }
}
