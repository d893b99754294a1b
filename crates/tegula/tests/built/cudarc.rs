//! As much of the crate cudarc as launchers use; launches are printed.
#![allow(non_camel_case_types, non_snake_case, clippy::missing_safety_doc, clippy::too_many_arguments)]

pub mod driver {
    pub mod sys {
        use std::ffi::{CStr, c_char, c_void};
        use std::sync::atomic::{AtomicI32, Ordering};

        pub type CUdeviceptr = u64;
        pub type CUdevice = i32;
        pub type CUmodule = *mut c_void;
        pub type CUfunction = *mut c_void;
        pub type CUstream = *mut c_void;

        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum CUresult {
            CUDA_SUCCESS = 0,
            CUDA_ERROR_INVALID_VALUE = 1,
            CUDA_ERROR_NO_BINARY_FOR_GPU = 209,
            CUDA_ERROR_NOT_FOUND = 500,
        }

        #[derive(Clone, Copy, PartialEq, Eq)]
        pub enum CUdevice_attribute {
            CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
            CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
        }

        pub static CAPABILITY: AtomicI32 = AtomicI32::new(0);

        pub unsafe fn cuCtxGetDevice(device: *mut CUdevice) -> CUresult {
            unsafe { *device = 0 };
            CUresult::CUDA_SUCCESS
        }

        pub unsafe fn cuDeviceGetAttribute(value: *mut i32, attribute: CUdevice_attribute, _: CUdevice) -> CUresult {
            let capability = CAPABILITY.load(Ordering::Relaxed);
            let major = attribute == CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR;
            unsafe { *value = if major { capability / 10 } else { capability % 10 } };
            CUresult::CUDA_SUCCESS
        }

        pub unsafe fn cuModuleLoadData(module: *mut CUmodule, image: *const c_void) -> CUresult {
            println!("load {}", unsafe { CStr::from_ptr(image.cast()) }.to_str().unwrap());
            unsafe { *module = 1 as CUmodule };
            CUresult::CUDA_SUCCESS
        }

        pub unsafe fn cuModuleGetFunction(function: *mut CUfunction, _: CUmodule, name: *const c_char) -> CUresult {
            unsafe { *function = 2 as CUfunction };
            if unsafe { CStr::from_ptr(name) } == c"scale" {
                CUresult::CUDA_SUCCESS
            } else {
                CUresult::CUDA_ERROR_NOT_FOUND
            }
        }

        pub unsafe fn cuModuleUnload(_: CUmodule) -> CUresult {
            println!("unload");
            CUresult::CUDA_SUCCESS
        }

        pub unsafe fn cuLaunchKernel(
            _: CUfunction,
            grid_x: u32,
            grid_y: u32,
            grid_z: u32,
            x: u32,
            y: u32,
            z: u32,
            shared: u32,
            _: CUstream,
            arguments: *mut *mut c_void,
            _: *mut *mut c_void,
        ) -> CUresult {
            let (pointer, factor, n) = unsafe {
                let at = |index: usize| *arguments.add(index);
                (*at(0).cast::<u64>(), *at(1).cast::<f32>(), *at(2).cast::<i32>())
            };
            println!(
                "launch {grid_x} {grid_y} {grid_z} threads {x} {y} {z} shared {shared} arguments {pointer} {factor} {n}"
            );
            CUresult::CUDA_SUCCESS
        }
    }
}
