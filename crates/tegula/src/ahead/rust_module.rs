//! The module for Rust.

use super::{Ahead, Kind, Machine, SHARED_WITHOUT_ASKING, identifier};
use tegula_ir::Scalar;

/// The whole module.
pub fn write(ahead: &Ahead) -> String {
    let ty = identifier::rust_type(&ahead.name);
    let mut out = format!(
        "//! `{}` for {}, compiled ahead of time by tegula {}.\n\
         //!\n\
         //! Needs the crate `cudarc` with its feature `driver`. With a CUDA context current: [`{ty}::load`] once, and\n\
         //! [`{ty}::launch`] as often as wanted.\n\n\
         use cudarc::driver::sys::{{self, CUdeviceptr, CUfunction, CUmodule, CUresult, CUstream}};\n\
         use std::ffi::c_void;\n\n",
        ahead.origin,
        ahead.targets(),
        env!("CARGO_PKG_VERSION"),
    );
    out += "/// Machine code, aligned as the driver reads it.\n#[repr(C, align(16))]\nstruct Image<Bytes: ?Sized>(Bytes);\n\n";
    for machine in &ahead.codes {
        out += &format!(
            "static {}: &Image<[u8]> = &Image(*include_bytes!(\"{}\"));\n",
            machine.target.to_uppercase(),
            ahead.cubin_name(machine)
        );
    }
    out += &format!(
        "\n/// The kernel in the context that was current when it was loaded.\n\
         #[derive(Debug)]\npub struct {ty} {{\n    module: CUmodule,\n    function: CUfunction,\n    \
         threads: u32,\n    shared_bytes: u32,\n}}\n\n\
         // SAFETY: a function may be launched from any thread, and the fields never change.\n\
         unsafe impl Send for {ty} {{}}\n// SAFETY: as above.\nunsafe impl Sync for {ty} {{}}\n\n\
         impl {ty} {{\n"
    );
    load(&mut out, ahead, &ty);
    launch(&mut out, ahead);
    out += &format!(
        "}}\n\nimpl Drop for {ty} {{\n    fn drop(&mut self) {{\n        \
         // SAFETY: the module was loaded, and whoever launches waits before this is dropped.\n        \
         unsafe {{ sys::cuModuleUnload(self.module) }};\n    }}\n}}\n\n\
         fn check(status: CUresult) -> Result<(), CUresult> {{\n    \
         if status == CUresult::CUDA_SUCCESS {{ Ok(()) }} else {{ Err(status) }}\n}}\n"
    );
    out
}

fn load(out: &mut String, ahead: &Ahead, ty: &str) {
    *out += &format!(
        "    /// Loads the machine code for the current context's device.\n    ///\n    /// # Errors\n    \
         /// The driver's; `CUDA_ERROR_NO_BINARY_FOR_GPU` if there is no code for the device.\n    \
         pub fn load() -> Result<{ty}, CUresult> {{\n        \
         use sys::CUdevice_attribute as Attribute;\n        \
         let (mut device, mut major, mut minor) = (0, 0, 0);\n        \
         // SAFETY: the places are valid.\n        unsafe {{\n            \
         check(sys::cuCtxGetDevice(&mut device))?;\n            \
         let attribute = Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR;\n            \
         check(sys::cuDeviceGetAttribute(&mut major, attribute, device))?;\n            \
         let attribute = Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR;\n            \
         check(sys::cuDeviceGetAttribute(&mut minor, attribute, device))?;\n        }}\n        \
         let (code, threads, shared_bytes) = match (major, minor) {{\n"
    );
    for machine in &ahead.codes {
        *out += &format!(
            "            {} => ({}, {}, {}),\n",
            suits(machine),
            machine.target.to_uppercase(),
            machine.threads(),
            machine.code.shared_bytes
        );
    }
    *out += &format!(
        "            _ => return Err(CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU),\n        }};\n        \
         let mut module: CUmodule = std::ptr::null_mut();\n        \
         // SAFETY: the image is whole, and the place is valid.\n        \
         check(unsafe {{ sys::cuModuleLoadData(&mut module, code.0.as_ptr().cast()) }})?;\n        \
         let mut kernel = {ty} {{ module, function: std::ptr::null_mut(), threads, shared_bytes }};\n        \
         // SAFETY: the module is loaded, and the name ends with a zero.\n        \
         check(unsafe {{ sys::cuModuleGetFunction(&mut kernel.function, module, c\"{}\".as_ptr()) }})?;\n",
        ahead.codes[0].code.name
    );
    if ahead.asks_for_shared_memory() {
        *out += &format!(
            "        if shared_bytes > {SHARED_WITHOUT_ASKING} {{\n            \
             let limit = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;\n            \
             // SAFETY: the function is loaded.\n            \
             check(unsafe {{ sys::cuFuncSetAttribute(kernel.function, limit, shared_bytes as i32) }})?;\n        }}\n"
        );
    }
    *out += "        Ok(kernel)\n    }\n\n";
}

/// The pattern of the compute capabilities that run the code.
fn suits(machine: &Machine) -> String {
    let (major, minor) = (machine.architecture / 10, machine.architecture % 10);
    if machine.specific { format!("({major}, {minor})") } else { format!("({major}, {minor}..)") }
}

fn launch(out: &mut String, ahead: &Ahead) {
    let promised: Vec<String> = ahead
        .parameters
        .iter()
        .filter(|parameter| parameter.divisible_by > 1)
        .map(|parameter| format!("`{}` of {}", identifier::rust(&parameter.name), parameter.divisible_by))
        .collect();
    *out += "    /// Queues a launch on a stream, for each program of the grid.\n    ///\n    /// # Errors\n    \
             /// The driver's";
    if !promised.is_empty() {
        *out += &format!("; `CUDA_ERROR_INVALID_VALUE` for others than multiples: {}", promised.join(", "));
    }
    *out += ".\n    ///\n    /// # Safety\n    \
             /// The addresses that the kernel makes of its arguments must be valid on the device until it ends, and the stream\n    \
             /// must be one of the context.\n    #[allow(clippy::too_many_arguments, clippy::manual_is_multiple_of)]\n    \
             pub unsafe fn launch(\n        &self,\n        stream: CUstream,\n        grid: [u32; 3],\n";
    for parameter in &ahead.parameters {
        *out += &format!("        {}: {},\n", identifier::rust(&parameter.name), ty(parameter.kind));
    }
    *out += "    ) -> Result<(), CUresult> {\n";
    for parameter in ahead.parameters.iter().filter(|parameter| parameter.divisible_by > 1) {
        *out += &format!(
            "        if {} % {} != 0 {{\n            return Err(CUresult::CUDA_ERROR_INVALID_VALUE);\n        }}\n",
            identifier::rust(&parameter.name),
            parameter.divisible_by
        );
    }
    let places: Vec<String> = ahead
        .parameters
        .iter()
        .map(|parameter| {
            format!("\n            (&raw const {}).cast_mut().cast(),", identifier::rust(&parameter.name))
        })
        .collect();
    *out += &format!(
        "        if grid.contains(&0) {{\n            return Ok(());\n        }}\n        \
         let mut arguments: [*mut c_void; {}] = [{}\n        ];\n        \
         // SAFETY: the driver copies the arguments before it returns; the caller vouches for the rest.\n        \
         check(unsafe {{\n            sys::cuLaunchKernel(\n                self.function,\n                \
         grid[0],\n                grid[1],\n                grid[2],\n                self.threads,\n                \
         1,\n                1,\n                self.shared_bytes,\n                stream,\n                \
         arguments.as_mut_ptr(),\n                std::ptr::null_mut(),\n            )\n        }})\n    }}\n",
        places.len(),
        places.concat()
    );
}

/// The type of a parameter. Floats that Rust does not have are passed as their bits.
fn ty(kind: Kind) -> &'static str {
    let Kind::Scalar(scalar) = kind else { return "CUdeviceptr" };
    match scalar {
        Scalar::Int1 => "bool",
        Scalar::Int8 => "i8",
        Scalar::Int16 => "i16",
        Scalar::Int32 => "i32",
        Scalar::Int64 => "i64",
        Scalar::UInt16 | Scalar::Float16 | Scalar::BFloat16 => "u16",
        Scalar::UInt32 => "u32",
        Scalar::UInt64 => "u64",
        Scalar::Float32 => "f32",
        Scalar::Float64 => "f64",
        _ => "u8",
    }
}
