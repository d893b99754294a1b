//! The address space: where the windows of each state space lie among generic addresses.
//!
//! Global addresses are those of the host's memory, below 2^56. The others lie above, where no array is.

/// The first generic address of shared memory. Block `r` of a cluster has the part that begins at `r << RANK_SHIFT`.
pub const SHARED_WINDOW: u64 = 1 << 56;
/// The first generic address of local memory; each thread sees its own.
pub const LOCAL_WINDOW: u64 = 2 << 56;
/// The first generic address of the parameters.
pub const PARAMETER_WINDOW: u64 = 3 << 56;
/// The place of a block's rank in addresses of shared memory.
pub const RANK_SHIFT: u32 = 24;
/// Where a block's variables begin in its shared memory: before them is what the system reserves.
pub const SHARED_BASE: u32 = 1024;

/// What a generic address points to, with the address in that space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Window {
    Global(u64),
    Shared(u32),
    Local(u32),
    Parameter(u32),
}

impl Window {
    /// The window of a generic address.
    pub fn of(address: u64) -> Window {
        let inside = address as u32;
        match address >> 56 {
            1 => Window::Shared(inside),
            2 => Window::Local(inside),
            3 => Window::Parameter(inside),
            _ => Window::Global(address),
        }
    }
}
