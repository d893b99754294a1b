//! `cp.async`: each thread copies up to 16 bytes from global to shared memory in the background.

use super::Form;
use super::memory::hints;
use crate::parse::{Name, Parser, Result};
use crate::printer::Printer;
use crate::target::Requirement;
use crate::{Address, CacheOperator, Operand, Prefetch, Register};

/// `cp.async`: 4, 8 or 16 bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct AsyncCopy {
    /// `All`, or `Global` to leave the first-level cache out, for 16 bytes alone.
    pub cache: CacheOperator,
    /// How much is fetched into the second-level cache.
    pub prefetch: Option<Prefetch>,
    /// The address in shared memory.
    pub dst: Address,
    /// The address in global memory.
    pub source: Address,
    /// The bytes written.
    pub bytes: u8,
    /// The bytes read; the rest are zeros. All if absent.
    pub read: Option<Operand>,
    /// The policy of the second-level cache.
    pub policy: Option<Register>,
}

impl Form for AsyncCopy {
    const NAMES: &'static [&'static str] = &["cp.async"];

    fn print(&self, out: &mut Printer) {
        out.name("cp.async").modifier(self.cache).word("shared.global");
        out.flag(self.policy.is_some(), "L2::cache_hint").optional(self.prefetch);
        out.address(&self.dst).address(&self.source).operand(i64::from(self.bytes));
        out.optional_operand(self.read).optional_operand(self.policy.map(Operand::Register));
    }

    fn parse(name: &mut Name<'_>, operands: &mut Parser<'_>) -> Result<AsyncCopy> {
        let cache = name.require("`.ca` or `.cg`")?;
        name.expect("shared.global")?;
        let has_policy = name.flag("L2::cache_hint");
        let prefetch = name.take();
        let (dst, source) = (operands.address()?, operands.address()?);
        let bytes = operands.count()?;
        let first = operands.optional_operand()?;
        let second = operands.optional_operand()?;
        let (read, policy) = if has_policy && second.is_none() { (None, first) } else { (first, second) };
        let policy = match (has_policy, policy) {
            (true, Some(Operand::Register(policy))) => Some(policy),
            (false, None) => None,
            _ => return Err(operands.unexpected("a policy, exactly where the name has one, before")),
        };
        Ok(AsyncCopy { cache, prefetch, dst, source, bytes, read, policy })
    }

    fn requirement(&self) -> Requirement {
        hints(false, self.policy.is_some() || self.prefetch.is_some())
    }
}

/// Groups of a thread's `cp.async`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AsyncGroup {
    /// `cp.async.commit_group`: those since the last become one.
    Commit,
    /// `cp.async.wait_group`: until at most so many are pending.
    Wait(u32),
    /// `cp.async.wait_all`: until all copies are done.
    WaitAll,
}

impl Form for AsyncGroup {
    const NAMES: &'static [&'static str] =
        &["cp.async.commit_group", "cp.async.wait_group", "cp.async.wait_all"];

    fn print(&self, out: &mut Printer) {
        match self {
            AsyncGroup::Commit => out.name(Self::NAMES[0]),
            AsyncGroup::Wait(pending) => out.name(Self::NAMES[1]).operand(i64::from(*pending)),
            AsyncGroup::WaitAll => out.name(Self::NAMES[2]),
        };
    }

    fn parse(name: &mut Name<'_>, operands: &mut Parser<'_>) -> Result<AsyncGroup> {
        match name.prefix {
            "cp.async.commit_group" => Ok(AsyncGroup::Commit),
            "cp.async.wait_group" => Ok(AsyncGroup::Wait(operands.count()?)),
            _ => Ok(AsyncGroup::WaitAll),
        }
    }
}
