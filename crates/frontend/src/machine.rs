//! What a kernel may ask of the machine that it is compiled for.

/// The kind of machine, of which `tl.target_info` answers and on which inline assembly depends. Nothing else in the front end does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Machine {
    #[default]
    Cpu,
    /// An NVIDIA GPU.
    Cuda {
        /// The compute capability without its point: 90 for 9.0.
        architecture: u32,
        /// Warps of 32 threads that run one program.
        num_warps: u32,
    },
}
