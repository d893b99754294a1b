//! tegula: the runtime.
