//! Tensor maps of launches: matrices as 128 bytes for the hardware. Maps of arguments that have been seen are kept.

use crate::tensor_map::{Matrix, Plan};
use cudarc::driver::sys::{
    self, CUresult, CUtensorMap, CUtensorMapDataType as DataType, CUtensorMapFloatOOBfill as Fill,
    CUtensorMapInterleave as Interleave, CUtensorMapL2promotion as Promotion, CUtensorMapSwizzle as Swizzle,
};
use rustc_hash::FxHashMap;
use std::sync::{Arc, Mutex, PoisonError};
use tegula_gpu::{Condition, TensorMap};
use tegula_ir::Function;

/// Launches whose maps are kept, of one kernel.
const KEPT: usize = 256;

/// The maps of a launch.
pub type Maps = Arc<[CUtensorMap]>;

/// Makes the maps of a kernel's launches.
#[derive(Debug)]
pub struct TensorMaps {
    plan: Plan,
    known: Mutex<FxHashMap<Box<[u64]>, Option<Maps>>>,
}

impl TensorMaps {
    pub fn new(function: &Function, maps: Vec<TensorMap>, conditions: Vec<Condition>) -> TensorMaps {
        TensorMaps { plan: Plan::new(function, maps, conditions), known: Mutex::default() }
    }

    /// What makes the matrices.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Whether launches need no maps.
    pub fn is_empty(&self) -> bool {
        self.plan.is_empty()
    }

    /// The maps for some arguments, a word each; `None` if there are none for these.
    pub fn of(&self, arguments: &[u64]) -> Option<Maps> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(maps) = known.get(arguments) {
            return maps.clone();
        }
        let matrices = self.plan.matrices(arguments);
        let maps: Option<Maps> = matrices.and_then(|matrices| matrices.iter().map(encode).collect());
        if known.len() >= KEPT {
            known.clear();
        }
        known.insert(arguments.into(), maps.clone());
        maps
    }
}

/// A map, if the driver makes one.
fn encode(matrix: &Matrix) -> Option<CUtensorMap> {
    let element = match matrix.element_bytes {
        1 => DataType::CU_TENSOR_MAP_DATA_TYPE_UINT8,
        2 => DataType::CU_TENSOR_MAP_DATA_TYPE_UINT16,
        4 => DataType::CU_TENSOR_MAP_DATA_TYPE_UINT32,
        8 => DataType::CU_TENSOR_MAP_DATA_TYPE_UINT64,
        _ => return None,
    };
    let swizzle = match matrix.swizzle_bytes {
        32 => Swizzle::CU_TENSOR_MAP_SWIZZLE_32B,
        64 => Swizzle::CU_TENSOR_MAP_SWIZZLE_64B,
        128 => Swizzle::CU_TENSOR_MAP_SWIZZLE_128B,
        _ => return None,
    };
    let mut encoded = CUtensorMap { opaque: [0; 16] };
    let (strides, steps) = ([matrix.stride], [1u32; 2]);
    // SAFETY: the arrays have as many numbers as the rank says, one fewer for strides; nothing is read at the address.
    let status = unsafe {
        sys::cuTensorMapEncodeTiled(
            &mut encoded,
            element,
            2,
            matrix.address as *mut std::ffi::c_void,
            matrix.extents.as_ptr(),
            strides.as_ptr(),
            matrix.box_extents.as_ptr(),
            steps.as_ptr(),
            Interleave::CU_TENSOR_MAP_INTERLEAVE_NONE,
            swizzle,
            Promotion::CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
            Fill::CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
        )
    };
    (status == CUresult::CUDA_SUCCESS).then_some(encoded)
}
