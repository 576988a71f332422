//! Threads and their locks: the C library's own do the work.

use core::ffi::{c_int, c_void};
use core::mem::transmute;
use core::sync::atomic::AtomicPtr;
use core::sync::atomic::Ordering::Relaxed;

use super::next::{Next, nexts};
use crate::runtime::{lines, modules, own, shadow, sys, threads, waits};
use crate::segment::AccessKind;

type Routine = unsafe extern "C" fn(*mut c_void) -> *mut c_void;

unsafe extern "C" {
    fn abort() -> !;
    fn pthread_key_create(key: *mut u32, end: unsafe extern "C" fn(*mut c_void)) -> c_int;
    fn pthread_setspecific(key: u32, value: *const c_void) -> c_int;
    fn pthread_atfork(
        prepare: Option<extern "C" fn()>,
        parent: Option<extern "C" fn()>,
        child: Option<extern "C" fn()>,
    ) -> c_int;
}

/// Whose destructor runs at a thread's end, as `key + 1`; null without one.
static KEY: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());

/// The bounds of this thread's stack.
fn stack() -> (usize, usize) {
    own::with_memory(sys::stack)
}

/// Attaches the first thread and asks for the ends of threads, and for forks.
pub(super) fn start() {
    extern "C" fn forked() {
        crate::runtime::forked();
    }
    unsafe extern "C" fn end(_: *mut c_void) {
        threads::detach();
    }
    if threads::attach_born(shadow::time(), 0, 0, stack).is_none() {
        return;
    }
    modules::scan();
    let mut key = 0;
    // SAFETY: both functions may be called at any time from then on, and the library is never unloaded.
    unsafe {
        pthread_atfork(None, None, Some(forked));
        if pthread_key_create(&raw mut key, end) == 0 {
            KEY.store((key as usize + 1) as *mut c_void, Relaxed);
        }
    }
}

/// What a thread is to run, when it was created, and by which thread.
struct Start {
    routine: Routine,
    argument: *mut c_void,
    birth: u32,
    creator: u32,
}

/// # Safety
///
/// `start` is from [`sys::reserve`], and is not used any more.
unsafe fn release(start: *mut c_void) {
    // SAFETY: the caller's promise.
    unsafe { sys::unmap(start as usize, size_of::<Start>()) };
}

unsafe extern "C" fn run(start: *mut c_void) -> *mut c_void {
    // SAFETY: `pthread_create` below passes a `Start` that it has initialised, and leaves it to this thread.
    let Start { routine, argument, birth, creator } = unsafe { start.cast::<Start>().read() };
    // SAFETY: nothing uses it from here on.
    unsafe { release(start) };
    if threads::attach_born(birth, creator, routine as *const () as u64, stack).is_some() {
        let key = KEY.load(Relaxed) as usize;
        if key > 0 {
            // SAFETY: the key was created, and a value that is not null has its destructor called.
            unsafe { pthread_setspecific(key as u32 - 1, start) };
        }
        modules::scan();
    }
    // SAFETY: the program's own routine with its own argument.
    unsafe { routine(argument) }
}

nexts! { creation: pthread_create }

/// Looks up the functions that these pass their calls on to. Called at the start.
pub(super) fn prepare() {
    creation::prepare();
    locking::prepare();
}

/// The next definition of a function that the program calls.
#[inline(always)]
fn real(next: &Next) -> *mut c_void {
    let found = next.get();
    if found.is_null() {
        // A C library without the function could not have started a program that calls it.
        // SAFETY: has no preconditions.
        unsafe { abort() };
    }
    found
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_create(
    thread: *mut c_void,
    attributes: *const c_void,
    routine: Routine,
    argument: *mut c_void,
) -> c_int {
    type Real = unsafe extern "C" fn(*mut c_void, *const c_void, Routine, *mut c_void) -> c_int;
    // SAFETY: the C library's function has this type. As the program's own call; `run` gets what it expects, and takes it
    // over unless the call fails.
    unsafe {
        let real = transmute::<*mut c_void, Real>(real(&creation::pthread_create));
        if !shadow::is_there() {
            return real(thread, attributes, routine, argument);
        }
        // Not in the program's heap, see `own`. Another thread frees it.
        let start: *mut Start = sys::reserve(size_of::<Start>()).cast();
        if start.is_null() {
            return real(thread, attributes, routine, argument);
        }
        let creator = threads::current().map_or(0, threads::ThreadState::id);
        start.write(Start { routine, argument, birth: shadow::tick(), creator });
        let result = real(thread, attributes, run, start.cast());
        if result != 0 {
            release(start.cast());
        }
        result
    }
}

/// Functions of locks: they note the lock's word, and pass the call on.
macro_rules! locks {
    ($($name:ident: $access:expr;)*) => {
        nexts! { locking: $($name)* }

        $(
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name(lock: *mut c_void) -> c_int {
                // SAFETY: as the program's own call of a function with this type.
                unsafe {
                    let real = transmute::<*mut c_void, unsafe extern "C" fn(*mut c_void) -> c_int>(real(&locking::$name));
                    if !shadow::is_there() {
                        return real(lock);
                    }
                    let code = sys::caller();
                    waits::timed(lock as usize, code, |_| {
                        lines::note(lock as usize, 4, $access, code);
                        real(lock)
                    })
                }
            }
        )*
    };
}

locks! {
    pthread_mutex_lock: AccessKind::Lock;
    pthread_mutex_trylock: AccessKind::Lock;
    pthread_mutex_unlock: AccessKind::Unlock;
    pthread_spin_lock: AccessKind::Lock;
    pthread_spin_trylock: AccessKind::Lock;
    pthread_spin_unlock: AccessKind::Unlock;
    pthread_rwlock_rdlock: AccessKind::Lock;
    pthread_rwlock_tryrdlock: AccessKind::Lock;
    pthread_rwlock_wrlock: AccessKind::Lock;
    pthread_rwlock_trywrlock: AccessKind::Lock;
    pthread_rwlock_unlock: AccessKind::Unlock;
    sem_post: AccessKind::Exchange;
    sem_trywait: AccessKind::Exchange;
    sem_wait: AccessKind::Exchange;
}
