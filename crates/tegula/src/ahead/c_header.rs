//! The header for C and C++.

use super::{Ahead, Argument, Kind, Machine, SHARED_WITHOUT_ASKING, identifier};
use std::fmt::Write;
use tegula_ir::Scalar;

/// Bytes on a line of an array.
const BYTES_A_LINE: usize = 20;

/// The whole header.
pub fn write(ahead: &Ahead) -> String {
    let name = &ahead.name;
    let mut out = String::new();
    let guard = format!("TEGULA_{}_H", name.to_uppercase());
    out += &format!(
        "/* {} for {}, compiled ahead of time by tegula {}.\n\
         \x20*\n\
         \x20* With a CUDA context current: {name}_load once, {name}_launch as often as wanted, {name}_unload.\n\
         \x20* Link with the CUDA driver (-lcuda). */\n\
         #ifndef {guard}\n#define {guard}\n\n#include <cuda.h>\n#include <stddef.h>\n#include <stdint.h>\n\n",
        ahead.origin,
        ahead.targets(),
        env!("CARGO_PKG_VERSION"),
    );
    for machine in &ahead.codes {
        array(&mut out, &format!("{name}_{}", machine.target), &machine.code.cubin);
    }
    out += &format!(
        "/* The kernel in the context that was current when it was loaded. */\n\
         typedef struct {{\n    CUmodule module;\n    CUfunction function;\n    unsigned int threads;\n    \
         unsigned int shared_bytes;\n}} {name}_kernel;\n\n"
    );
    load(&mut out, ahead);
    launch(&mut out, ahead);
    out += &format!(
        "/* Unloads the kernel; no launch may be running. */\n\
         static inline CUresult {name}_unload({name}_kernel *kernel) {{\n    \
         return cuModuleUnload(kernel->module);\n}}\n\n#endif\n"
    );
    out
}

fn array(out: &mut String, name: &str, bytes: &[u8]) {
    // The driver reads the image as words, so that it has to be aligned as they are.
    *out += &format!(
        "static const union {{\n    unsigned char bytes[{}];\n    uint64_t words;\n}} {name} = {{{{\n",
        bytes.len()
    );
    for line in bytes.chunks(BYTES_A_LINE) {
        *out += "    ";
        for byte in line {
            // Writing to a string cannot fail.
            let _ = write!(out, "{byte},");
        }
        out.push('\n');
    }
    *out += "}};\n\n";
}

fn load(out: &mut String, ahead: &Ahead) {
    let name = &ahead.name;
    *out += &format!(
        "/* Loads the machine code for the current context's device; CUDA_ERROR_NO_BINARY_FOR_GPU if there is none. */\n\
         static inline CUresult {name}_load({name}_kernel *kernel) {{\n    \
         const unsigned char *code = NULL;\n    CUdevice device;\n    int major, minor;\n    \
         CUresult status = cuCtxGetDevice(&device);\n    if (status != CUDA_SUCCESS) return status;\n    \
         status = cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);\n    \
         if (status != CUDA_SUCCESS) return status;\n    \
         status = cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);\n    \
         if (status != CUDA_SUCCESS) return status;\n"
    );
    for (index, machine) in ahead.codes.iter().enumerate() {
        *out += &format!(
            "    {}if ({}) {{\n        code = {name}_{}.bytes;\n        kernel->threads = {};\n        \
             kernel->shared_bytes = {};\n    }}\n",
            if index > 0 { "else " } else { "" },
            suits(machine),
            machine.target,
            machine.threads(),
            machine.code.shared_bytes
        );
    }
    *out += &format!(
        "    if (code == NULL) return CUDA_ERROR_NO_BINARY_FOR_GPU;\n    \
         status = cuModuleLoadData(&kernel->module, code);\n    if (status != CUDA_SUCCESS) return status;\n    \
         status = cuModuleGetFunction(&kernel->function, kernel->module, \"{}\");\n",
        ahead.codes[0].code.name
    );
    if ahead.asks_for_shared_memory() {
        *out += &format!(
            "    if (status == CUDA_SUCCESS && kernel->shared_bytes > {SHARED_WITHOUT_ASKING}) {{\n        \
             status = cuFuncSetAttribute(kernel->function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,\n            \
             (int)kernel->shared_bytes);\n    }}\n"
        );
    }
    *out += "    if (status != CUDA_SUCCESS) cuModuleUnload(kernel->module);\n    return status;\n}\n\n";
}

/// The condition under which a device runs the code.
fn suits(machine: &Machine) -> String {
    let (major, minor) = (machine.architecture / 10, machine.architecture % 10);
    let relation = if machine.specific { "==" } else { ">=" };
    format!("major == {major} && minor {relation} {minor}")
}

fn launch(out: &mut String, ahead: &Ahead) {
    let name = &ahead.name;
    let declared: String = ahead
        .parameters
        .iter()
        .map(|parameter| format!(",\n    {} {}", ty(parameter.kind), identifier::c(&parameter.name)))
        .collect();
    *out += &format!(
        "/* Queues a launch on a stream: grid_x * grid_y * grid_z programs. Addresses are of the device.{} */\n\
         static inline CUresult {name}_launch(\n    const {name}_kernel *kernel, CUstream stream,\n    \
         unsigned int grid_x, unsigned int grid_y, unsigned int grid_z{declared}) {{\n",
        promises(&ahead.parameters)
    );
    let places: Vec<String> = ahead
        .parameters
        .iter()
        .map(|parameter| format!("(void *)&{}", identifier::c(&parameter.name)))
        .collect();
    let places = if places.is_empty() { "NULL".to_owned() } else { places.join(", ") };
    *out += &format!("    void *arguments[] = {{{places}}};\n");
    for parameter in ahead.parameters.iter().filter(|parameter| parameter.divisible_by > 1) {
        let name = identifier::c(&parameter.name);
        *out +=
            &format!("    if ({name} % {} != 0) return CUDA_ERROR_INVALID_VALUE;\n", parameter.divisible_by);
    }
    *out += "    if (grid_x == 0 || grid_y == 0 || grid_z == 0) return CUDA_SUCCESS;\n    \
             return cuLaunchKernel(kernel->function, grid_x, grid_y, grid_z, kernel->threads, 1, 1,\n        \
             kernel->shared_bytes, stream, arguments, NULL);\n}\n\n";
}

/// What launches must keep.
fn promises(parameters: &[Argument]) -> String {
    let promised: Vec<String> = parameters
        .iter()
        .filter(|parameter| parameter.divisible_by > 1)
        .map(|parameter| format!("{} of {}", identifier::c(&parameter.name), parameter.divisible_by))
        .collect();
    match promised.is_empty() {
        true => String::new(),
        false => format!("\n * Others than multiples are CUDA_ERROR_INVALID_VALUE: {}.", promised.join(", ")),
    }
}

/// The type of a parameter. Floats that C does not have are passed as their bits.
fn ty(kind: Kind) -> &'static str {
    let Kind::Scalar(scalar) = kind else { return "CUdeviceptr" };
    match scalar {
        Scalar::Int8 => "int8_t",
        Scalar::Int16 => "int16_t",
        Scalar::Int32 => "int32_t",
        Scalar::Int64 => "int64_t",
        Scalar::UInt16 | Scalar::Float16 | Scalar::BFloat16 => "uint16_t",
        Scalar::UInt32 => "uint32_t",
        Scalar::UInt64 => "uint64_t",
        Scalar::Float32 => "float",
        Scalar::Float64 => "double",
        _ => "uint8_t",
    }
}
