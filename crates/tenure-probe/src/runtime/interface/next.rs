//! The next definitions of functions that the runtime's hide: the ones that the program has without the runtime.
//!
//! All are looked up at the start. A look-up waits for the loader's lock, which a thread may hold that waits in a constructor
//! for the one that looks up. Only a name that is absent at the start, as C++'s are where a plugin brings the library, is looked
//! up again when it is called.

use core::ffi::{CStr, c_void};
use core::ptr::null_mut;
use core::sync::atomic::AtomicPtr;
use core::sync::atomic::Ordering::Relaxed;

use crate::runtime::{own, sys};

pub(super) type Void = *mut c_void;

pub(super) struct Next {
    name: &'static CStr,
    /// [`ABSENT`] if there is none, null if that is not known.
    found: AtomicPtr<c_void>,
}

const ABSENT: Void = core::ptr::without_provenance_mut(1);

impl Next {
    /// `name` ends with a zero.
    pub(super) const fn new(name: &'static str) -> Self {
        let Ok(name) = CStr::from_bytes_with_nul(name.as_bytes()) else { panic!() };
        Self { name, found: AtomicPtr::new(null_mut()) }
    }

    /// Looks it up at the start.
    pub(super) fn prepare(&self) {
        self.found.store(self.look_up(), Relaxed);
    }

    /// Null if there is none.
    #[inline(always)]
    pub(super) fn get(&self) -> Void {
        let known = self.found.load(Relaxed);
        match known.is_null() {
            true => self.get_late(),
            false if known == ABSENT => null_mut(),
            false => known,
        }
    }

    #[cold]
    fn get_late(&self) -> Void {
        let found = self.look_up();
        // Threads that look it up at once find the same.
        self.found.store(if found.is_null() { ABSENT } else { found }, Relaxed);
        found
    }

    /// [`Next::get`] for a function that the loader may call in a look-up: null then.
    #[inline(always)]
    pub(super) fn get_unless_looking(&self) -> Void {
        if self.found.load(Relaxed).is_null() && own::is_without_memory() {
            return null_mut();
        }
        self.get()
    }

    fn look_up(&self) -> Void {
        own::without_memory(|| {
            let found = sys::next(self.name);
            if found.is_null() {
                // The program did not ask for it. And glibc 2.36 keeps a mark that it had no memory for the error, which the next
                // look-up that succeeds takes for an address.
                sys::forget_error();
            }
            found
        })
    }
}

/// A module of these functions, and `prepare`, which looks all up.
macro_rules! nexts {
    ($module:ident: $($name:ident)*) => {
        #[allow(non_upper_case_globals, reason = "the functions' own names")]
        mod $module {
            use crate::runtime::interface::next::Next;

            $(pub(super) static $name: Next = Next::new(concat!(stringify!($name), "\0"));)*

            pub(super) fn prepare() {
                $($name.prepare();)*
            }
        }
    };
}
pub(super) use nexts;
