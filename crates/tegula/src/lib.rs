//! tegula for Rust.
