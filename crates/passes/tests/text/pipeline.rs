use super::kernel;
use tegula_ir::Function;
use tegula_passes::optimise;

#[track_caller]
fn optimises(before: &str, after: &str) {
    let mut function = kernel(before);
    optimise(&mut function);
    assert_eq!(function.to_string(), kernel(after).to_string());
}

#[test]
fn passes_help_each_other() {
    // The inner loop runs once; what it carried is then constant, and what it computed does not depend on the outer loop.
    optimises(
        "%0 = constant 0 : i32 %1 = constant 1 : i32
         %r = for %i = %0 to %n step %1 carry (%a = %n) {
           %s = for %j = %0 to %1 step %1 carry (%b = %a) {
             %two = constant 1 : i32
             %t = add %m, %two : i32
             %z = sub %j, %0 : i32
             %w = add %t, %z : i32
             store %q, %w
             yield %b
           } : i32
           yield %s
         } : i32
         store %q, %r",
        "%0 = constant 0 : i32 %1 = constant 1 : i32
         %t = add %m, %1 : i32
         for %i = %0 to %n step %1 { store %q, %t }
         store %q, %n",
    );
}

#[test]
fn addresses_become_few_operations() {
    optimises(
        "%pid = program_id 0 : i32 %size = constant 64 : i32 %start = mul %pid, %size : i32
         %range = arange 0..64 : <64xi32> %starts = splat %start : <64xi32> %offsets = add %starts, %range : <64xi32>
         %ns = splat %n : <64xi32> %mask = compare lt %offsets, %ns : <64xi1>
         %ps = splat %p : <64x*fp32> %a = add_pointer %ps, %offsets : <64x*fp32> %v = load %a mask %mask : <64xfp32>
         %range2 = arange 0..64 : <64xi32> %starts2 = splat %start : <64xi32> %offsets2 = add %starts2, %range2 : <64xi32>
         %ps2 = splat %p : <64x*fp32> %a2 = add_pointer %ps2, %offsets2 : <64x*fp32> store %a2, %v mask %mask",
        "%pid = program_id 0 : i32 %size = constant 64 : i32 %start = mul %pid, %size : i32
         %range = arange 0..64 : <64xi32> %starts = splat %start : <64xi32> %offsets = add %starts, %range : <64xi32>
         %ns = splat %n : <64xi32> %mask = compare lt %offsets, %ns : <64xi1>
         %ps = splat %p : <64x*fp32> %a = add_pointer %ps, %offsets : <64x*fp32> %v = load %a mask %mask : <64xfp32>
         store %a, %v mask %mask",
    );
}

#[test]
fn an_empty_function_stays_empty() {
    let mut function = Function::parse("kernel @empty() {}").unwrap();
    optimise(&mut function);
    assert_eq!(function.to_string(), "kernel @empty() {\n}\n");
}
