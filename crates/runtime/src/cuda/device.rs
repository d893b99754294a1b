//! Devices, by the driver's numbers, with their primary contexts: the ones that torch and everyone else use.

use super::driver::{self, DriverError, check};
use crate::target::Gpu;
use cudarc::driver::sys::{self, CUcontext, CUdevice, CUdevice_attribute as Attribute, CUpointer_attribute};
use std::sync::OnceLock;

/// Devices of one machine; those beyond are refused.
pub(super) const DEVICES: usize = 64;

/// A GPU, opened once and never closed.
#[derive(Debug)]
pub struct Device {
    ordinal: u32,
    context: CUcontext,
    gpu: Gpu,
    shared_memory_limit: u32,
    registers_per_block: u32,
}

// SAFETY: a context may be used from any thread; nothing else is shared.
unsafe impl Send for Device {}
// SAFETY: as above; the fields never change.
unsafe impl Sync for Device {}

impl Device {
    /// The device with this number, as in `cuda:0`.
    ///
    /// # Errors
    /// [`DriverError`] without a driver, without such a device, or if its number is beyond those that are served.
    pub fn get(ordinal: u32) -> Result<&'static Device, DriverError> {
        static OPEN: [OnceLock<Device>; DEVICES] = [const { OnceLock::new() }; DEVICES];
        let place = OPEN.get(ordinal as usize).ok_or(DriverError::TooMany(ordinal))?;
        match place.get() {
            Some(device) => Ok(device),
            None => {
                let device = Device::open(ordinal)?;
                Ok(place.get_or_init(|| device))
            }
        }
    }

    fn open(ordinal: u32) -> Result<Device, DriverError> {
        driver::initialise()?;
        let mut device: CUdevice = 0;
        let mut context: CUcontext = std::ptr::null_mut();
        // SAFETY: the driver is initialised, and the places are valid.
        unsafe {
            check(sys::cuDeviceGet(&mut device, ordinal as i32), "find the device")?;
            check(sys::cuDevicePrimaryCtxRetain(&mut context, device), "open the device")?;
        }
        let attribute = |attribute: Attribute| {
            let mut value = 0;
            // SAFETY: as above.
            let status = unsafe { sys::cuDeviceGetAttribute(&mut value, attribute, device) };
            check(status, "say what the device can do").map(|()| value.max(0) as u32)
        };
        let major = attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
        let minor = attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
        Ok(Device {
            ordinal,
            context,
            gpu: Gpu::of_capability((major, minor)),
            shared_memory_limit: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?,
            registers_per_block: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK)?,
        })
    }

    /// How many devices there are, as this process may see them.
    ///
    /// # Errors
    /// [`DriverError`] without a driver.
    pub fn count() -> Result<u32, DriverError> {
        static COUNT: OnceLock<Result<u32, DriverError>> = OnceLock::new();
        COUNT
            .get_or_init(|| {
                driver::initialise()?;
                let mut count = 0;
                // SAFETY: the driver is initialised, and the place is valid.
                let status = unsafe { sys::cuDeviceGetCount(&mut count) };
                check(status, "count the devices").map(|()| count.max(0) as u32)
            })
            .clone()
    }

    /// The number of the device that has an address.
    ///
    /// # Errors
    /// [`DriverError`] without a driver, or for an address that it does not know.
    pub fn of_address(address: u64) -> Result<u32, DriverError> {
        driver::initialise()?;
        let mut ordinal = 0i32;
        let attribute = CUpointer_attribute::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL;
        // SAFETY: the driver is initialised, the place is valid, and the address is only looked up.
        let status = unsafe { sys::cuPointerGetAttribute((&raw mut ordinal).cast(), attribute, address) };
        check(status, "find the device of an address").map(|()| ordinal.max(0) as u32)
    }

    /// Its number.
    pub fn ordinal(&self) -> u32 {
        self.ordinal
    }

    /// What code it runs.
    pub fn gpu(&self) -> Gpu {
        self.gpu
    }

    /// The most bytes of shared memory that one program may have.
    pub fn shared_memory_limit(&self) -> u32 {
        self.shared_memory_limit
    }

    /// The registers that the threads of one program share.
    pub fn registers_per_block(&self) -> u32 {
        self.registers_per_block
    }

    /// Calls `work` with the device's context current on this thread, and restores the one before.
    ///
    /// # Errors
    /// Those of `work`, and [`DriverError`] if the context cannot be made current.
    pub fn with_context<T>(&self, work: impl FnOnce() -> Result<T, DriverError>) -> Result<T, DriverError> {
        let mut before: CUcontext = std::ptr::null_mut();
        // SAFETY: the driver is initialised, since there is a device.
        unsafe { check(sys::cuCtxGetCurrent(&mut before), "say which device is current")? };
        if before == self.context {
            return work();
        }
        // SAFETY: the primary context is never released.
        unsafe { check(sys::cuCtxSetCurrent(self.context), "change to the device")? };
        let result = work();
        if !before.is_null() {
            // SAFETY: the context was current a moment ago.
            unsafe { check(sys::cuCtxSetCurrent(before), "change back to the device before")? };
        }
        result
    }
}
