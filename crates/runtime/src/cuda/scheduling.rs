//! How a GPU schedules the programs of a launch, where that is not left to it.

use crate::options::Options;
use crate::target::Gpu;
use cudarc::driver::sys::{
    CUlaunchAttribute, CUlaunchAttributeID as Attribute, CUlaunchAttributeValue,
    CUlaunchAttributeValue_union__bindgen_ty_1 as Extents,
};

/// The first architecture with clusters and with launches that overlap the one before.
const FIRST_WITH_CLUSTERS: u32 = 90;

/// The largest cluster that every GPU with clusters takes (CUDA C++ Programming Guide, thread block clusters).
const LARGEST_CLUSTER: u32 = 8;

/// What is asked of the scheduler.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scheduling {
    /// All programs run at once, so that they may wait for one another; a launch with more than fit is refused.
    cooperative: bool,
    /// The launch may begin before the one before it on the stream has ended, of which it waits for what it needs.
    overlapping: bool,
    /// So many programs that are neighbours along the first axis run close together.
    cluster: u32,
}

impl Scheduling {
    /// What options ask for, as far as the GPU can.
    pub fn new(options: &Options, gpu: Gpu) -> Scheduling {
        let recent = gpu.machine.architecture >= FIRST_WITH_CLUSTERS;
        Scheduling {
            cooperative: options.cooperative,
            overlapping: options.overlapping && recent,
            cluster: if recent && options.num_ctas <= LARGEST_CLUSTER { options.num_ctas } else { 1 },
        }
    }

    /// The attributes of a launch on a grid.
    pub(super) fn attributes(self, grid: [u32; 3]) -> Vec<CUlaunchAttribute> {
        let mut all = Vec::new();
        let mut ask = |id: Attribute, value: CUlaunchAttributeValue| {
            all.push(CUlaunchAttribute { id, pad: [0; 4], value });
        };
        if self.cooperative {
            let value = CUlaunchAttributeValue { cooperative: 1 };
            ask(Attribute::CU_LAUNCH_ATTRIBUTE_COOPERATIVE, value);
        }
        if self.overlapping {
            let value = CUlaunchAttributeValue { programmaticStreamSerializationAllowed: 1 };
            ask(Attribute::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION, value);
        }
        // A grid consists of whole clusters.
        if self.cluster > 1 && grid[0].is_multiple_of(self.cluster) {
            let value = CUlaunchAttributeValue { clusterDim: Extents { x: self.cluster, y: 1, z: 1 } };
            ask(Attribute::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, value);
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::Scheduling;
    use crate::options::Options;
    use crate::target::Gpu;
    use cudarc::driver::sys::CUlaunchAttributeID as Attribute;

    fn asked(options: Options, capability: (u32, u32), grid: [u32; 3]) -> Vec<Attribute> {
        let all = Scheduling::new(&options, Gpu::of_capability(capability)).attributes(grid);
        all.iter().map(|attribute| attribute.id).collect()
    }

    #[test]
    fn only_what_is_asked_for_and_what_the_gpu_can() {
        let plain = Options::default();
        assert_eq!(asked(plain, (9, 0), [4, 1, 1]), []);
        let all = Options { cooperative: true, overlapping: true, num_ctas: 4, ..plain };
        let (cooperative, overlapping, cluster) = (
            Attribute::CU_LAUNCH_ATTRIBUTE_COOPERATIVE,
            Attribute::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
            Attribute::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
        );
        assert_eq!(asked(all, (9, 0), [8, 3, 1]), [cooperative, overlapping, cluster]);
        assert_eq!(asked(all, (9, 0), [6, 4, 1]), [cooperative, overlapping], "no whole clusters");
        assert_eq!(asked(all, (8, 0), [8, 1, 1]), [cooperative]);
        let many = Options { num_ctas: 16, ..plain };
        assert_eq!(asked(many, (9, 0), [16, 1, 1]), []);
    }
}
