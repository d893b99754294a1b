//! Loads, stores, prefetches and cache policies.

use smallvec::SmallVec;

use super::Form;
use crate::parse::{Name, Parser, Result};
use crate::printer::Printer;
use crate::target::Requirement;
use crate::{
    Address, CacheOperator, Eviction, Operand, Ordering, PolicyPriority, Prefetch, Register, Scope, Space,
    Type,
};

modifier! {
    /// The number of elements that an access moves.
    Vector {
        Two = "v2",
        Four = "v4",
        /// For 32 bytes, on sm_100 and later.
        Eight = "v8",
    }
}

impl Vector {
    /// The vector of a number of elements; none for one.
    pub fn of(elements: usize) -> Option<Vector> {
        match elements {
            2 => Some(Vector::Two),
            4 => Some(Vector::Four),
            8 => Some(Vector::Eight),
            _ => None,
        }
    }
}

/// `ld`: one, two, four or eight registers from consecutive addresses.
#[derive(Clone, Debug, PartialEq)]
pub struct Load {
    /// The memory ordering; none is weak.
    pub ordering: Option<Ordering>,
    /// The threads of the ordering.
    pub scope: Option<Scope>,
    /// The space; none for generic addresses.
    pub space: Option<Space>,
    /// Where it is cached.
    pub cache: Option<CacheOperator>,
    /// Whether the memory is not written while the kernel runs.
    pub non_coherent: bool,
    /// How soon the line may leave the first-level cache.
    pub eviction: Option<Eviction>,
    /// How much is fetched into the second-level cache.
    pub prefetch: Option<Prefetch>,
    /// The type of an element.
    pub ty: Type,
    /// The registers; their number is the vector's.
    pub dst: SmallVec<[Register; 4]>,
    /// The address.
    pub address: Address,
    /// The policy of the second-level cache.
    pub policy: Option<Register>,
}

impl Load {
    /// A plain load.
    pub fn new(space: Space, ty: Type, dst: &[Register], address: Address) -> Load {
        Load {
            ordering: None,
            scope: None,
            space: Some(space),
            cache: None,
            non_coherent: false,
            eviction: None,
            prefetch: None,
            ty,
            dst: SmallVec::from_slice(dst),
            address,
            policy: None,
        }
    }
}

impl Form for Load {
    const NAMES: &'static [&'static str] = &["ld"];

    fn print(&self, out: &mut Printer) {
        out.name("ld")
            .optional(self.ordering)
            .optional(self.scope)
            .optional(self.space)
            .optional(self.cache)
            .flag(self.non_coherent, "nc")
            .optional(self.eviction)
            .flag(self.policy.is_some(), "L2::cache_hint")
            .optional(self.prefetch)
            .optional(Vector::of(self.dst.len()))
            .modifier(self.ty)
            .scalar_or_vector(&self.dst)
            .address(&self.address)
            .optional_operand(self.policy.map(Operand::Register));
    }

    fn parse(name: &mut Name<'_>, operands: &mut Parser<'_>) -> Result<Load> {
        let ordering = name.take();
        let scope = name.take();
        let space = name.take();
        let cache = name.take();
        let non_coherent = name.flag("nc");
        let eviction = name.take();
        let has_policy = name.flag("L2::cache_hint");
        let prefetch = name.take();
        let vector: Option<Vector> = name.take();
        let ty = name.require("a type")?;
        let dst: SmallVec<[Register; 4]> = operands.scalar_or_registers()?;
        let address = operands.address()?;
        let policy = if has_policy { Some(operands.register()?) } else { None };
        if Vector::of(dst.len()) != vector {
            return Err(name.unexpected("a vector of as many registers"));
        }
        let load = Load {
            ordering,
            scope,
            space,
            cache,
            non_coherent,
            eviction,
            prefetch,
            ty,
            dst,
            address,
            policy,
        };
        Ok(load)
    }

    fn requirement(&self) -> Requirement {
        hints(self.eviction.is_some(), self.policy.is_some() || self.prefetch.is_some())
            .and(wide(self.ty, self.dst.len()))
            .and(space_requirement(self.space))
            .and(Requirement::from(90, 7, 8).when(self.scope == Some(Scope::Cluster)))
            .and(Requirement::from(80, 8, 3).when(self.ty == Type::B128))
    }
}

/// `st`: one, two, four or eight values to consecutive addresses.
#[derive(Clone, Debug, PartialEq)]
pub struct Store {
    /// The memory ordering; none is weak.
    pub ordering: Option<Ordering>,
    /// The threads of the ordering.
    pub scope: Option<Scope>,
    /// The space; none for generic addresses.
    pub space: Option<Space>,
    /// Where it is cached.
    pub cache: Option<CacheOperator>,
    /// How soon the line may leave the first-level cache.
    pub eviction: Option<Eviction>,
    /// The type of an element.
    pub ty: Type,
    /// The address.
    pub address: Address,
    /// The values; their number is the vector's.
    pub values: SmallVec<[Operand; 4]>,
    /// The policy of the second-level cache.
    pub policy: Option<Register>,
}

impl Store {
    /// A plain store.
    pub fn new(space: Space, ty: Type, address: Address, values: &[Operand]) -> Store {
        Store {
            ordering: None,
            scope: None,
            space: Some(space),
            cache: None,
            eviction: None,
            ty,
            address,
            values: SmallVec::from_slice(values),
            policy: None,
        }
    }
}

impl Form for Store {
    const NAMES: &'static [&'static str] = &["st"];

    fn print(&self, out: &mut Printer) {
        out.name("st")
            .optional(self.ordering)
            .optional(self.scope)
            .optional(self.space)
            .optional(self.cache)
            .optional(self.eviction)
            .flag(self.policy.is_some(), "L2::cache_hint")
            .optional(Vector::of(self.values.len()))
            .modifier(self.ty)
            .address(&self.address)
            .scalar_or_vector(&self.values)
            .optional_operand(self.policy.map(Operand::Register));
    }

    fn parse(name: &mut Name<'_>, operands: &mut Parser<'_>) -> Result<Store> {
        let ordering = name.take();
        let scope = name.take();
        let space = name.take();
        let cache = name.take();
        let eviction = name.take();
        let has_policy = name.flag("L2::cache_hint");
        let vector: Option<Vector> = name.take();
        let ty = name.require("a type")?;
        let address = operands.address()?;
        let values: SmallVec<[Operand; 4]> = operands.scalar_or_vector()?;
        let policy = if has_policy { Some(operands.register()?) } else { None };
        if Vector::of(values.len()) != vector {
            return Err(name.unexpected("a vector of as many values"));
        }
        Ok(Store { ordering, scope, space, cache, eviction, ty, address, values, policy })
    }

    fn requirement(&self) -> Requirement {
        hints(self.eviction.is_some(), self.policy.is_some())
            .and(wide(self.ty, self.values.len()))
            .and(space_requirement(self.space))
            .and(Requirement::from(90, 7, 8).when(self.scope == Some(Scope::Cluster)))
            .and(Requirement::from(80, 8, 3).when(self.ty == Type::B128))
    }
}

/// What cache hints ask for.
pub(super) fn hints(first_level: bool, second_level: bool) -> Requirement {
    Requirement::from(80, 7, 4).when(first_level || second_level)
}

/// What an access wider than 16 bytes asks for.
fn wide(ty: Type, elements: usize) -> Requirement {
    Requirement::from(100, 8, 8).when(ty.bits() as usize * elements > 128)
}

/// What a space asks for: those of clusters are of sm_90, and of their time.
pub(super) fn space_requirement(space: Option<Space>) -> Requirement {
    match space {
        Some(Space::SharedCluster) => Requirement::from(90, 7, 8),
        Some(Space::SharedCta) => Requirement::from(80, 7, 8),
        _ => Requirement::BASE,
    }
}

modifier! {
    /// The cache that a prefetch fills.
    CacheLevel {
        First = "L1",
        Second = "L2",
        /// Not a cache line but the descriptor of a tensor, for bulk copies.
        TensorMap = "tensormap",
    }
}

/// `prefetch`: the line of an address, or a tensor map.
#[derive(Clone, Debug, PartialEq)]
pub struct PrefetchLine {
    /// The space; none for generic addresses.
    pub space: Option<Space>,
    /// The cache.
    pub level: CacheLevel,
    /// The address.
    pub address: Address,
}

impl Form for PrefetchLine {
    const NAMES: &'static [&'static str] = &["prefetch"];

    fn print(&self, out: &mut Printer) {
        out.name("prefetch").optional(self.space).modifier(self.level).address(&self.address);
    }

    fn parse(name: &mut Name<'_>, operands: &mut Parser<'_>) -> Result<PrefetchLine> {
        let space = name.take();
        Ok(PrefetchLine { space, level: name.require("a cache")?, address: operands.address()? })
    }

    fn requirement(&self) -> Requirement {
        Requirement::from(90, 8, 0).when(self.level == CacheLevel::TensorMap)
    }
}

/// `createpolicy.fractional`: a policy by which a fraction of the lines gets one priority and the rest
/// another.
#[derive(Clone, Debug, PartialEq)]
pub struct CreatePolicy {
    /// The priority of the fraction.
    pub primary: PolicyPriority,
    /// The priority of the rest; none is unchanged.
    pub secondary: Option<PolicyPriority>,
    /// The policy, 64 bits.
    pub dst: Register,
    /// The fraction, a single-precision number.
    pub fraction: Operand,
}

impl Form for CreatePolicy {
    const NAMES: &'static [&'static str] = &["createpolicy.fractional"];

    fn print(&self, out: &mut Printer) {
        out.name("createpolicy.fractional").modifier(self.primary).optional(self.secondary).word("b64");
        out.operand(self.dst).operand(self.fraction);
    }

    fn parse(name: &mut Name<'_>, operands: &mut Parser<'_>) -> Result<CreatePolicy> {
        let (primary, secondary) = (name.require("a priority")?, name.take());
        name.expect("b64")?;
        Ok(CreatePolicy { primary, secondary, dst: operands.register()?, fraction: operands.operand()? })
    }

    fn requirement(&self) -> Requirement {
        Requirement::from(80, 7, 4)
    }
}

/// `mapa` and `getctarank`: the address of a block's shared memory in the cluster, and whose an address is.
#[derive(Clone, Debug, PartialEq)]
pub enum ClusterAddress {
    /// The address in the shared memory of block `rank` that corresponds to `address` in one's own.
    Map {
        /// `U32` or `U64`.
        ty: Type,
        /// The result.
        dst: Register,
        /// An address in shared memory.
        address: Register,
        /// The block's rank in the cluster.
        rank: Operand,
    },
    /// The rank of the block whose shared memory an address is in.
    Rank {
        /// `U32` or `U64`, the type of the address.
        ty: Type,
        /// The rank.
        dst: Register,
        /// An address in shared memory.
        address: Register,
    },
}

impl Form for ClusterAddress {
    const NAMES: &'static [&'static str] = &["mapa.shared::cluster", "getctarank.shared::cluster"];

    fn print(&self, out: &mut Printer) {
        match self {
            ClusterAddress::Map { ty, dst, address, rank } => {
                out.name("mapa.shared::cluster").modifier(*ty).operand(*dst).operand(*address).operand(*rank)
            }
            ClusterAddress::Rank { ty, dst, address } => {
                out.name("getctarank.shared::cluster").modifier(*ty).operand(*dst).operand(*address)
            }
        };
    }

    fn parse(name: &mut Name<'_>, operands: &mut Parser<'_>) -> Result<ClusterAddress> {
        let ty = name.require("a type")?;
        let (dst, address) = (operands.register()?, operands.register()?);
        Ok(if name.prefix.starts_with("mapa") {
            ClusterAddress::Map { ty, dst, address, rank: operands.operand()? }
        } else {
            ClusterAddress::Rank { ty, dst, address }
        })
    }

    fn requirement(&self) -> Requirement {
        Requirement::from(90, 7, 8)
    }
}
