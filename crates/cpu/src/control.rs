//! Loops and branches.

use crate::block::Block;
use crate::execute::{Executor, Outcome};
use crate::program::{For, If, Operand, Place, Region, While};
use smallvec::SmallVec;

impl<'p> Executor<'p> {
    /// Moves values to places, as if at once: a value may come from a place that another goes to.
    fn assign(&mut self, values: &[Operand], places: &[Place]) {
        if let ([value], [place]) = (values, places) {
            let block = self.take(*value);
            self.write(*place, block);
            return;
        }
        let blocks: SmallVec<[Block; 8]> = values.iter().map(|&value| self.take(value)).collect();
        for (&place, block) in places.iter().zip(blocks) {
            self.write(place, block);
        }
    }

    /// Moves the values that a loop carries at its end to its results.
    fn finish(&mut self, carried: &[Place], outs: &[Place]) {
        for (&place, &out) in carried.iter().zip(outs) {
            let block = self.take(Operand { place, last: true });
            self.write(out, block);
        }
    }

    pub fn run_for(&mut self, operation: &'p For) -> Outcome {
        let register = |register: u32| self.registers[register as usize];
        let (lower, upper, step) =
            (register(operation.lower), register(operation.upper), register(operation.step));
        let signed = operation.scalar.is_signed();
        let wide = |bits: u64| if signed { i128::from(bits as i64) } else { i128::from(bits) };
        let (mut index, upper, step) = (wide(lower), wide(upper), wide(step));
        let body = &operation.body;
        let (counter, carried) = body.args.split_first().expect("a loop's body takes the index");
        self.assign(&operation.inits, carried);
        while (step > 0 && index < upper) || (step < 0 && index > upper) {
            self.go_on()?;
            self.write(*counter, Block::Splat(index as u64));
            self.run(&body.code)?;
            self.assign(&body.yields, carried);
            index += step;
        }
        self.finish(carried, &operation.outs);
        Ok(())
    }

    pub fn run_while(&mut self, operation: &'p While) -> Outcome {
        let While { inits, condition, body, outs } = operation;
        self.assign(inits, &condition.args);
        loop {
            self.go_on()?;
            self.run(&condition.code)?;
            let (goes_on, values) = condition.yields.split_first().expect("a condition yields a truth value");
            let Block::Splat(goes_on) = self.take(*goes_on) else {
                unreachable!("a truth value is a scalar")
            };
            self.assign(values, &body.args);
            if goes_on == 0 {
                break;
            }
            self.run(&body.code)?;
            self.assign(&body.yields, &condition.args);
        }
        self.finish(&body.args, outs);
        Ok(())
    }

    pub fn run_if(&mut self, operation: &'p If) -> Outcome {
        let taken = self.registers[operation.condition as usize] != 0;
        let region = if taken { &operation.then } else { &operation.otherwise };
        self.run(&region.code)?;
        self.assign(&region.yields, &operation.outs);
        Ok(())
    }

    /// Runs a region on scalars.
    pub fn call(
        &mut self,
        region: &'p Region,
        args: &[u64],
    ) -> Result<SmallVec<[u64; 4]>, Box<crate::LaunchError>> {
        for (&place, &bits) in region.args.iter().zip(args) {
            self.write(place, Block::Splat(bits));
        }
        self.run(&region.code)?;
        let yields = region.yields.iter().map(|&value| match self.take(value) {
            Block::Splat(bits) => bits,
            _ => unreachable!("a function of scalars yields scalars"),
        });
        Ok(yields.collect())
    }
}
