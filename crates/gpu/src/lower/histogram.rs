//! Histograms: counters in shared memory, to which each element adds one.

use super::emit::holds;
use super::{Lowering, Result};
use tegula_ir::{OpId, Scalar, Value};
use tegula_ptx::{Address, AtomicOp, Comparison, Operand, Reduce, Register, Space, Type};

impl Lowering<'_> {
    pub(super) fn histogram(&mut self, id: OpId, value: Value, mask: Option<Value>) -> Result<()> {
        let function = self.function;
        let result = function.op(id).results[0];
        let home = self.layouts.home_of(result).expect("a histogram has a home");
        let shape = function.ty(result).shape.clone();
        let bins = shape[0];
        let base = self.begin_scratch(u64::from(bins.next_power_of_two()) * 4)?;
        let zero = self.code.copy(Type::B32, Operand::Integer(0));
        let positions = self.positions(home, &shape);
        let int32 = Scalar::Int32.into();
        // Positions of the padding lie in the scratch area too, which is as large as the next power of two.
        for &position in &positions {
            let address = self.scratch_address(base, position, 4).into();
            self.store_vector(Space::Shared, int32, address, &[zero], None, |store| store);
        }
        self.publish_scratch();
        let (layout, registers) = self.anywhere(value);
        let masks = mask.map(|mask| self.block(mask, layout));
        let inside = self.inside(layout, &function.ty(value).shape);
        let owner = self.is_owner(layout);
        let scalar = self.scalar_type(value);
        for (index, &register) in registers.iter().enumerate() {
            let bin = self.cast(scalar, Scalar::UInt64, tegula_ir::Rounding::NearestEven, register)?;
            let counts = self.code.both(masks.as_ref().map(|masks| masks[index]), inside[index]);
            let counts = self.code.both(counts, owner);
            let limit = Operand::Integer(bins.into());
            let counts = self.code.compare_and(Comparison::Less, Type::U64, [bin.into(), limit], counts);
            let bin = self.code.convert(Type::U32, Type::U64, None, bin);
            let address = Address::from(self.scratch_address(base, bin, 4));
            let values = [Operand::Integer(1)].into_iter().collect();
            let add = Reduce {
                ordering: None,
                scope: None,
                space: Some(Space::Shared),
                op: AtomicOp::Add,
                ty: Type::U32,
                address,
                values,
                policy: None,
            };
            self.code.push_if(Some(holds(counts)), add);
        }
        self.publish_scratch();
        let counts: Vec<Register> =
            positions.into_iter().map(|position| self.fetch(base, position, int32)).collect();
        self.define_block(result, home, counts)
    }
}
