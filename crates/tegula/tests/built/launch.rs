//! Launches what `tegula build` made of a kernel.

mod scale;

use cudarc::driver::sys::{CAPABILITY, CUresult};
use std::sync::atomic::Ordering;

fn main() {
    for capability in [80, 86, 90, 100] {
        CAPABILITY.store(capability, Ordering::Relaxed);
        let kernel = match scale::Scale::load() {
            Ok(kernel) => kernel,
            Err(error) => {
                println!("error {}", error as i32);
                continue;
            }
        };
        let launch = |grid, address| unsafe { kernel.launch(std::ptr::null_mut(), grid, address, 2.5, -7) };
        let status = launch([3, 2, 1], 4096).and_then(|()| launch([0, 1, 1], 4096)).and_then(|()| launch([1; 3], 4100));
        println!("error {}", status.err().unwrap_or(CUresult::CUDA_SUCCESS) as i32);
    }
}
