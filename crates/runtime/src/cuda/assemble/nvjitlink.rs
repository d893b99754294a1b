//! nvJitLink: the assembler as a library, in this process and on many threads at once.
//!
//! Its functions carry the version in their names since release 12 (`__nvJitLinkCreate_12_0`); a library has those of
//! every minor release from 0 on, and the calls used here are the same in all.

use super::{Assembled, Failure, Job, Report};
use libloading::Library;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::PathBuf;

type Handle = *mut c_void;
type Create = unsafe extern "C" fn(*mut Handle, u32, *const *const c_char) -> c_int;
type AddData = unsafe extern "C" fn(Handle, c_int, *const c_void, usize, *const c_char) -> c_int;
type OnHandle = unsafe extern "C" fn(Handle) -> c_int;
type Destroy = unsafe extern "C" fn(*mut Handle) -> c_int;
type Size = unsafe extern "C" fn(Handle, *mut usize) -> c_int;
type Read = unsafe extern "C" fn(Handle, *mut c_void) -> c_int;
type Version = unsafe extern "C" fn(*mut u32, *mut u32) -> c_int;

/// `NVJITLINK_INPUT_PTX`.
const PTX: c_int = 2;

/// Releases of CUDA whose library may be found.
const RELEASES: [u32; 2] = [13, 12];

/// The functions of a loaded library.
#[derive(Debug)]
pub struct NvJitLink {
    create: Create,
    add_data: AddData,
    complete: OnHandle,
    destroy: Destroy,
    cubin_size: Size,
    cubin: Read,
    error_log_size: Size,
    error_log: Read,
    info_log_size: Size,
    info_log: Read,
    version: (u32, u32),
    path: PathBuf,
    /// The functions live as long as the library is loaded.
    _library: Library,
}

impl NvJitLink {
    /// Looks among the libraries that are loaded already or that the system knows, in Python packages
    /// (`nvidia-nvjitlink`, which torch brings), and in the toolkit that `CUDA_HOME` names.
    pub fn find(packages: &[PathBuf]) -> Option<NvJitLink> {
        let names = RELEASES.map(|release| format!("libnvJitLink.so.{release}"));
        let mut places: Vec<PathBuf> = names.iter().map(PathBuf::from).collect();
        let folders = super::package_folders(packages, "lib")
            .chain(super::toolkits().flat_map(|toolkit| [toolkit.join("lib64"), toolkit.join("lib")]));
        for folder in folders {
            places.extend(names.iter().map(|name| folder.join(name)).filter(|path| path.is_file()));
        }
        places.into_iter().find_map(NvJitLink::load)
    }

    /// The library at `path`, unless it cannot be loaded or lacks a function.
    fn load(path: PathBuf) -> Option<NvJitLink> {
        // SAFETY: the library is NVIDIA's, whose initialisation has no preconditions.
        let library = unsafe { Library::new(&path) }.ok()?;
        // SAFETY: the types are those of `nvJitLink.h`, of which no release has changed a signature.
        unsafe {
            let mut version = (0, 0);
            symbol::<Version>(&library, "nvJitLinkVersion")?(&mut version.0, &mut version.1);
            Some(NvJitLink {
                create: symbol(&library, "nvJitLinkCreate")?,
                add_data: symbol(&library, "nvJitLinkAddData")?,
                complete: symbol(&library, "nvJitLinkComplete")?,
                destroy: symbol(&library, "nvJitLinkDestroy")?,
                cubin_size: symbol(&library, "nvJitLinkGetLinkedCubinSize")?,
                cubin: symbol(&library, "nvJitLinkGetLinkedCubin")?,
                error_log_size: symbol(&library, "nvJitLinkGetErrorLogSize")?,
                error_log: symbol(&library, "nvJitLinkGetErrorLog")?,
                info_log_size: symbol(&library, "nvJitLinkGetInfoLogSize")?,
                info_log: symbol(&library, "nvJitLinkGetInfoLog")?,
                version,
                path,
                _library: library,
            })
        }
    }

    /// The release, such as (13, 0).
    pub fn version(&self) -> (u32, u32) {
        self.version
    }

    /// Where the library was found.
    pub fn path(&self) -> &std::path::Path {
        &self.path
    }

    /// Machine code of PTX.
    ///
    /// # Errors
    /// [`Failure`] with the log.
    pub fn assemble(&self, job: &Job<'_>) -> Result<Assembled, Failure> {
        let mut options = vec![format!("-arch={}", job.machine), "-lineinfo".into(), "-Xptxas=-v".into()];
        if let Some(registers) = job.max_registers {
            options.push(format!("-maxrregcount={registers}"));
        }
        let options: Vec<CString> =
            options.into_iter().map(|option| CString::new(option).expect("options hold no zero")).collect();
        let pointers: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
        let mut handle = std::ptr::null_mut();
        // SAFETY: `pointers` holds as many strings as it says, which outlive the call.
        let status = unsafe { (self.create)(&mut handle, pointers.len() as u32, pointers.as_ptr()) };
        if status != 0 {
            let message =
                format!("nvJitLink does not assemble for {} (status {status}): is it too old?", job.machine);
            return Err(Failure::Unavailable(message));
        }
        let session = Session { library: self, handle };
        // The library reads on to a zero, whatever length it is told.
        let text = CString::new(job.ptx).map_err(|_| Failure::Refused("the PTX holds a zero".to_owned()))?;
        // SAFETY: the text ends with a zero, and lives through the call, which copies it.
        let added =
            unsafe { (self.add_data)(handle, PTX, text.as_ptr().cast(), job.ptx.len(), c"kernel".as_ptr()) };
        // SAFETY: the handle is alive.
        if added != 0 || unsafe { (self.complete)(handle) } != 0 {
            return Err(Failure::Refused(session.text(self.error_log_size, self.error_log)));
        }
        let report = Report::parse(&session.text(self.info_log_size, self.info_log));
        Ok(Assembled { cubin: session.bytes(self.cubin_size, self.cubin), report })
    }
}

/// One linking, which ends with the value.
struct Session<'l> {
    library: &'l NvJitLink,
    handle: Handle,
}

impl Session<'_> {
    fn bytes(&self, size: Size, read: Read) -> Vec<u8> {
        let mut length = 0;
        // SAFETY: the handle is alive, and the buffer as long as the library asks.
        unsafe {
            if size(self.handle, &mut length) != 0 {
                return Vec::new();
            }
            let mut buffer = vec![0u8; length];
            if length > 0 && read(self.handle, buffer.as_mut_ptr().cast()) != 0 {
                return Vec::new();
            }
            buffer
        }
    }

    fn text(&self, size: Size, read: Read) -> String {
        let mut bytes = self.bytes(size, read);
        bytes.push(0);
        CStr::from_bytes_until_nul(&bytes)
            .map_or_else(|_| String::new(), |text| text.to_string_lossy().into())
    }
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        // SAFETY: the handle came from `create`, and nothing uses it any more.
        unsafe { (self.library.destroy)(&mut self.handle) };
    }
}

/// The function called `name`, or `__name_RELEASE_0`.
///
/// # Safety
/// `F` must be its type.
unsafe fn symbol<F: Copy>(library: &Library, name: &str) -> Option<F> {
    let versioned = RELEASES.map(|release| format!("__{name}_{release}_0"));
    std::iter::once(name).chain(versioned.iter().map(String::as_str)).find_map(|name| {
        // SAFETY: the caller vouches for the type.
        unsafe { library.get::<F>(name.as_bytes()) }.ok().map(|symbol| *symbol)
    })
}
