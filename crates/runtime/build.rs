//! Hashes the sources of the compiler, so that the cache on disk never serves what another compiler made.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

/// The crates that decide what a kernel compiles to.
const COMPILER: [&str; 7] = ["ir", "layout", "passes", "frontend", "ptx", "gpu", "runtime"];

fn main() -> std::io::Result<()> {
    let mut hash = DefaultHasher::new();
    for name in COMPILER {
        let folder = Path::new("..").join(name).join("src");
        // A crate that was packed for a registry has no neighbours, but a version of its own.
        if folder.is_dir() {
            println!("cargo::rerun-if-changed={}", folder.display());
            add(&folder, &mut hash)?;
        }
    }
    println!("cargo::rustc-env=TEGULA_SOURCES={:016x}", hash.finish());
    Ok(())
}

/// Adds every file of a folder, in the order of names.
fn add(folder: &Path, hash: &mut DefaultHasher) -> std::io::Result<()> {
    let mut entries: Vec<PathBuf> =
        std::fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?;
    entries.sort();
    for path in entries {
        if path.is_dir() {
            add(&path, hash)?;
        } else {
            path.hash(hash);
            std::fs::read(&path)?.hash(hash);
        }
    }
    Ok(())
}
