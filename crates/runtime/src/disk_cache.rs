//! A cache on disk, shared by any number of processes and threads.
//!
//! An entry is a file, named by the hash of everything that its contents depend on. It is written beside its place and
//! renamed into it, so readers see whole entries or none; a checksum finds what a crash or a disk has damaged, and such an entry
//! counts as absent. Nothing is locked: processes that make the same entry at once write the same twice.
//!
//! ```text
//! HEADER  checksum of the rest (32 bytes)  { length of name (u32)  length of data (u64)  name  data } ...
//! ```

use sha2::{Digest, Sha256};
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// What every entry starts with; another form of entries gets another number.
const HEADER: &[u8] = b"tegula cache entry 1\n";
const CHECKSUM_BYTES: usize = 32;

/// Identifies an entry: a hash of all that it was made from.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Key(String);

impl Key {
    /// The key of a list of ingredients; their order and their borders count.
    pub fn of<'i>(ingredients: impl IntoIterator<Item = &'i [u8]>) -> Key {
        let mut hash = Sha256::new();
        for ingredient in ingredients {
            hash.update((ingredient.len() as u64).to_le_bytes());
            hash.update(ingredient);
        }
        Key(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// The key in hexadecimal digits.
    pub fn text(&self) -> &str {
        &self.0
    }
}

/// What an entry holds: pieces of data by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    pieces: Vec<(String, Vec<u8>)>,
}

impl Entry {
    /// Adds a piece.
    pub fn insert(&mut self, name: &str, data: impl Into<Vec<u8>>) {
        self.pieces.push((name.to_owned(), data.into()));
    }

    /// The piece called `name`.
    pub fn get(&self, name: &str) -> Option<&[u8]> {
        self.pieces.iter().find(|(known, _)| known == name).map(|(_, data)| data.as_slice())
    }

    fn to_bytes(&self) -> Vec<u8> {
        let mut contents = Vec::new();
        for (name, data) in &self.pieces {
            contents.extend((name.len() as u32).to_le_bytes());
            contents.extend((data.len() as u64).to_le_bytes());
            contents.extend(name.as_bytes());
            contents.extend(data);
        }
        let checksum: [u8; CHECKSUM_BYTES] = Sha256::digest(&contents).into();
        [HEADER, &checksum, &contents].concat()
    }

    /// The entry, unless a byte of it has changed.
    fn from_bytes(bytes: &[u8]) -> Option<Entry> {
        let (checksum, mut contents) = bytes.strip_prefix(HEADER)?.split_at_checked(CHECKSUM_BYTES)?;
        if Sha256::digest(contents)[..] != *checksum {
            return None;
        }
        let mut entry = Entry::default();
        let mut take = |length: usize| {
            let (taken, rest) = contents.split_at_checked(length)?;
            contents = rest;
            Some(taken)
        };
        while let Some(name_length) = take(size_of::<u32>()) {
            let name_length = u32::from_le_bytes(name_length.try_into().ok()?) as usize;
            let data_length = u64::from_le_bytes(take(size_of::<u64>())?.try_into().ok()?) as usize;
            let name = String::from_utf8(take(name_length)?.to_vec()).ok()?;
            entry.insert(&name, take(data_length)?);
        }
        Some(entry)
    }
}

/// A folder of entries.
#[derive(Clone, Debug)]
pub struct DiskCache {
    folder: PathBuf,
}

impl DiskCache {
    /// The cache in `folder`, which is made when something is written.
    pub fn new(folder: impl Into<PathBuf>) -> DiskCache {
        DiskCache { folder: folder.into() }
    }

    /// The cache that the environment names: `TEGULA_CACHE_DIR`, `TRITON_CACHE_DIR`, or one among the user's caches; `None` if
    /// the user has no home either.
    pub fn from_environment() -> Option<DiskCache> {
        locate(|name| std::env::var_os(name).filter(|value| !value.is_empty())).map(DiskCache::new)
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The entry for a key; `None` if there is none, or if it is damaged.
    pub fn read(&self, key: &Key) -> Option<Entry> {
        Entry::from_bytes(&std::fs::read(self.place(key)).ok()?)
    }

    /// Writes the entry for a key, in the place of what may be there.
    ///
    /// # Errors
    /// Those of the file system: the disk is full, the folder may not be written to. The cache is as before then.
    pub fn write(&self, key: &Key, entry: &Entry) -> io::Result<()> {
        let place = self.place(key);
        let folder = place.parent().unwrap_or(&self.folder);
        std::fs::create_dir_all(folder)?;
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(&entry.to_bytes())?;
        file.persist(place)?;
        Ok(())
    }

    /// Where the entry for a key is; folders of a few files each stay quick to search.
    fn place(&self, key: &Key) -> PathBuf {
        let (prefix, rest) = key.0.split_at(2);
        self.folder.join(prefix).join(rest)
    }
}

fn locate(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    if let Some(folder) = variable("TEGULA_CACHE_DIR") {
        return Some(folder.into());
    }
    let shared = variable("TRITON_CACHE_DIR").or_else(|| variable("XDG_CACHE_HOME")).map(PathBuf::from);
    let of_user =
        || Some(PathBuf::from(variable("HOME").or_else(|| variable("USERPROFILE"))?).join(".cache"));
    Some(shared.or_else(of_user)?.join("tegula"))
}

#[cfg(test)]
mod tests {
    use super::{DiskCache, Entry, Key, locate};
    use std::path::PathBuf;

    fn entry(size: usize, seed: u8) -> Entry {
        let mut entry = Entry::default();
        entry.insert("ptx", "text");
        entry.insert("cubin", (0..size).map(|index| (index as u8).wrapping_mul(seed)).collect::<Vec<_>>());
        entry
    }

    fn key(name: &str) -> Key {
        Key::of([name.as_bytes()])
    }

    #[test]
    fn what_was_written_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let cache = DiskCache::new(folder.path().join("made/when/needed"));
        assert_eq!(cache.read(&key("a")), None);
        for size in [0, 1, 10_007] {
            cache.write(&key("a"), &entry(size, 7)).unwrap();
            assert_eq!(cache.read(&key("a")), Some(entry(size, 7)));
        }
        assert_eq!(cache.read(&key("b")), None);
        assert_eq!(cache.read(&key("a")).unwrap().get("ptx"), Some(&b"text"[..]));
        assert_eq!(cache.read(&key("a")).unwrap().get("layouts"), None);
    }

    #[test]
    fn borders_between_ingredients_count() {
        let of = |parts: &[&str]| Key::of(parts.iter().map(|part| part.as_bytes()));
        assert_ne!(of(&["ab", "c"]), of(&["a", "bc"]));
        assert_ne!(of(&["a", ""]), of(&["a"]));
        assert_eq!(of(&["a", "b"]), of(&["a", "b"]));
    }

    #[test]
    fn damage_of_any_byte_and_any_truncation_is_found() {
        let whole = entry(100, 3).to_bytes();
        assert_eq!(Entry::from_bytes(&whole), Some(entry(100, 3)));
        for index in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[index] ^= 0x10;
            assert_eq!(Entry::from_bytes(&damaged), None, "byte {index}");
            assert_eq!(Entry::from_bytes(&whole[..index]), None, "the first {index} bytes");
        }
        assert_eq!(Entry::from_bytes(&[&whole[..], b"x"].concat()), None);
    }

    #[test]
    fn a_damaged_entry_is_absent_and_can_be_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let cache = DiskCache::new(folder.path());
        cache.write(&key("a"), &entry(1000, 3)).unwrap();
        let place = cache.place(&key("a"));
        let whole = std::fs::read(&place).unwrap();
        std::fs::write(&place, &whole[..whole.len() / 2]).unwrap();
        assert_eq!(cache.read(&key("a")), None);
        cache.write(&key("a"), &entry(1000, 5)).unwrap();
        assert_eq!(cache.read(&key("a")), Some(entry(1000, 5)));
    }

    #[test]
    fn readers_among_many_writers_see_whole_entries() {
        let folder = tempfile::tempdir().unwrap();
        let cache = DiskCache::new(folder.path());
        cache.write(&key("shared"), &entry(50_000, 1)).unwrap();
        std::thread::scope(|scope| {
            for seed in 1..=6u8 {
                let cache = &cache;
                scope.spawn(move || {
                    for _ in 0..30 {
                        cache.write(&key("shared"), &entry(50_000, seed)).unwrap();
                        let found = cache.read(&key("shared")).expect("an entry is always there");
                        assert!((1..=6).any(|seed| found == entry(50_000, seed)));
                    }
                });
            }
        });
        let files = std::fs::read_dir(cache.place(&key("shared")).parent().unwrap()).unwrap();
        assert_eq!(files.count(), 1, "nothing temporary is left");
    }

    #[test]
    fn the_environment_names_the_folder() {
        let with = |set: &[(&str, &str)]| {
            let set: Vec<(String, String)> = set.iter().map(|&(k, v)| (k.into(), v.into())).collect();
            locate(move |name| set.iter().find(|(known, _)| known == name).map(|(_, value)| value.into()))
        };
        let home = ("HOME", "/home/me");
        assert_eq!(with(&[]), None);
        assert_eq!(with(&[home]), Some(PathBuf::from("/home/me/.cache/tegula")));
        assert_eq!(with(&[home, ("XDG_CACHE_HOME", "/c")]), Some(PathBuf::from("/c/tegula")));
        assert_eq!(with(&[home, ("TRITON_CACHE_DIR", "/t")]), Some(PathBuf::from("/t/tegula")));
        let both = [("TRITON_CACHE_DIR", "/t"), ("TEGULA_CACHE_DIR", "/own")];
        assert_eq!(with(&both), Some(PathBuf::from("/own")));
    }
}
