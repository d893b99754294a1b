//! Instructions, family by family, and what the simulator says of wrong uses.

mod arithmetic;
mod background;
mod exchanges;
mod matrices;
mod support;
mod synchronisation;
