//! Machine code on a device, ready to be launched.

use super::device::Device;
use super::driver::{DriverError, check};
use super::scheduling::Scheduling;
use crate::error::{Error, Resource};
use cudarc::driver::sys::{
    self, CUfunction, CUfunction_attribute as Attribute, CUlaunchConfig, CUmodule, CUresult, CUstream,
    CUtensorMap,
};
use std::ffi::{CString, c_void};

/// Threads of a warp.
const WARP: u32 = 32;

/// Shared memory that a kernel may have without asking for more.
const SHARED_WITHOUT_ASKING: u32 = 48 * 1024;

/// Most arguments have this many leaves or fewer; more cost an allocation.
const USUAL_ARGUMENTS: usize = 32;

/// A kernel's code in the context of one device. It is never unloaded: launches may still be running.
#[derive(Debug)]
pub struct Module {
    device: &'static Device,
    function: CUfunction,
    threads: u32,
    shared_bytes: u32,
}

// SAFETY: a function may be launched from any thread, and the fields never change.
unsafe impl Send for Module {}
// SAFETY: as above.
unsafe impl Sync for Module {}

impl Module {
    /// Loads machine code, whose entry is `name`, for blocks of `num_warps` warps with `shared_bytes` of dynamic memory.
    ///
    /// # Errors
    /// [`Error::OutOfResources`] if one program needs more than the device has; [`Error::Driver`].
    pub fn load(
        device: &'static Device,
        cubin: &[u8],
        name: &str,
        num_warps: u32,
        shared_bytes: u32,
    ) -> Result<Module, Error> {
        let threads = num_warps * WARP;
        if shared_bytes > device.shared_memory_limit() {
            return Err(Error::shared_memory(name, shared_bytes, device.shared_memory_limit()));
        }
        let entry =
            CString::new(name).map_err(|_| Error::Option(format!("{name:?} is no name of a kernel")))?;
        let (function, registers, most_threads) = device.with_context(|| {
            let mut module: CUmodule = std::ptr::null_mut();
            let mut function: CUfunction = std::ptr::null_mut();
            // SAFETY: the context is current, the image is whole, and the places are valid.
            unsafe {
                check(sys::cuModuleLoadData(&mut module, cubin.as_ptr().cast()), "load the machine code")?;
                check(sys::cuModuleGetFunction(&mut function, module, entry.as_ptr()), "find the kernel")?;
            }
            if shared_bytes > SHARED_WITHOUT_ASKING {
                let limit = Attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
                // SAFETY: the function is loaded.
                let status = unsafe { sys::cuFuncSetAttribute(function, limit, shared_bytes as i32) };
                check(status, "give the kernel its shared memory")?;
            }
            let attribute = |attribute: Attribute| {
                let mut value = 0;
                // SAFETY: as above.
                let status = unsafe { sys::cuFuncGetAttribute(&mut value, attribute, function) };
                check(status, "say what the kernel needs").map(|()| value.max(0) as u32)
            };
            let registers = attribute(Attribute::CU_FUNC_ATTRIBUTE_NUM_REGS)?;
            let most_threads = attribute(Attribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?;
            Ok((function, registers, most_threads))
        })?;
        if threads > most_threads {
            return Err(Error::OutOfResources {
                kernel: name.to_owned(),
                resource: Resource::Registers,
                required: registers * threads,
                available: device.registers_per_block(),
            });
        }
        Ok(Module { device, function, threads, shared_bytes })
    }

    /// The driver's handle of the kernel.
    pub fn handle(&self) -> u64 {
        self.function as u64
    }

    /// Queues a launch on a stream; returns before the kernel has run.
    ///
    /// Each argument is a word, of which the kernel takes as many of the lowest bytes as its parameter has. Tensor maps come after
    /// them.
    ///
    /// # Errors
    /// [`DriverError`]: of this launch, or of one before it that failed in the meantime.
    ///
    /// # Safety
    /// There must be as many words and maps as parameters, the addresses that the kernel makes of them must be valid on the device
    /// until it ends, and the stream must be one of the device.
    pub unsafe fn launch(
        &self,
        grid: [u32; 3],
        stream: Stream,
        scheduling: Scheduling,
        arguments: &[u64],
        maps: &[CUtensorMap],
    ) -> Result<(), DriverError> {
        let mut usual = [std::ptr::null_mut::<c_void>(); USUAL_ARGUMENTS];
        let mut more = Vec::new();
        let count = arguments.len() + maps.len();
        let places = match usual.get_mut(..count) {
            Some(places) => places,
            None => {
                more.resize(count, std::ptr::null_mut());
                &mut more[..]
            }
        };
        for (place, argument) in places.iter_mut().zip(arguments) {
            // The driver reads the arguments, and does not write them.
            *place = std::ptr::from_ref(argument).cast_mut().cast();
        }
        for (place, map) in places[arguments.len()..].iter_mut().zip(maps) {
            *place = std::ptr::from_ref(map).cast_mut().cast();
        }
        let [x, y, z] = grid;
        let mut attributes = scheduling.attributes(grid);
        if !attributes.is_empty() {
            let config = CUlaunchConfig {
                gridDimX: x,
                gridDimY: y,
                gridDimZ: z,
                blockDimX: self.threads,
                blockDimY: 1,
                blockDimZ: 1,
                sharedMemBytes: self.shared_bytes,
                hStream: stream.0 as CUstream,
                attrs: attributes.as_mut_ptr(),
                numAttrs: attributes.len() as u32,
            };
            return self.device.with_context(|| {
                // SAFETY: as below; the attributes live until the call returns.
                let status = unsafe {
                    sys::cuLaunchKernelEx(&config, self.function, places.as_mut_ptr(), std::ptr::null_mut())
                };
                check(status, "launch the kernel")
            });
        }
        self.device.with_context(|| {
            // SAFETY: the driver copies the arguments before it returns; the caller vouches for the rest. On this
            // little-endian machine the lowest bytes of a word come first.
            let status: CUresult = unsafe {
                sys::cuLaunchKernel(
                    self.function,
                    x,
                    y,
                    z,
                    self.threads,
                    1,
                    1,
                    self.shared_bytes,
                    stream.0 as CUstream,
                    places.as_mut_ptr(),
                    std::ptr::null_mut(),
                )
            };
            check(status, "launch the kernel")
        })
    }
}

/// A stream of a device, by its handle; 0 is the default stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stream(pub u64);
