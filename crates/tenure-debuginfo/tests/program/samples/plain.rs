use std::collections::HashMap;
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

mod hook {
    use std::ffi::{c_char, c_int, c_void};

    unsafe extern "C" {
        fn backtrace(buffer: *mut *mut c_void, size: c_int) -> c_int;
        static __ehdr_start: c_char;
    }

    pub fn start() -> usize {
        &raw const __ehdr_start as usize
    }

    #[inline(never)]
    pub fn stack() -> Vec<usize> {
        let mut buffer = [std::ptr::null_mut(); 24];
        let count = unsafe { backtrace(buffer.as_mut_ptr(), 24) };
        // The first two are this function and the hook.
        buffer[2..count as usize].iter().map(|at| (*at as usize).wrapping_sub(start())).collect()
    }

    #[inline(never)]
    pub fn code(name: &str) {
        print!("code {name}");
        stack().iter().for_each(|at| print!(" {at:x}"));
        println!();
    }

    #[inline(never)]
    pub fn data<T>(name: &str, at: *const T) {
        println!("data {name} {:x}", (at as usize).wrapping_sub(start()));
    }

    #[inline(never)]
    pub fn touch<T>(name: &str, base: usize, at: *const T) {
        println!("access {name} {:x} {:x} {:x}", at as usize - base, size_of::<T>(), stack()[0]);
    }
}

/// Prints the stack of each allocation of a requested size.
struct Watching;

static WATCHED: AtomicU64 = AtomicU64::new(0);
static FOUND: AtomicU64 = AtomicU64::new(0);

unsafe impl std::alloc::GlobalAlloc for Watching {
    unsafe fn alloc(&self, layout: std::alloc::Layout) -> *mut u8 {
        if WATCHED.load(Relaxed) == layout.size() as u64 {
            WATCHED.store(0, Relaxed);
            hook::code(&format!("allocate {}", layout.size()));
            let at = unsafe { std::alloc::System.alloc(layout) };
            FOUND.store(at as u64, Relaxed);
            return at;
        }
        unsafe { std::alloc::System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: std::alloc::Layout) {
        unsafe { std::alloc::System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Watching = Watching;

struct Session {
    refs: AtomicU64,
    name: [u8; 40],
    limits: Limits,
    rest: [u16; 8],
}

struct Limits {
    requests: AtomicU64,
    bytes: AtomicU64,
}

#[derive(Clone)]
struct Worker {
    hits: u64,
    misses: u64,
    busy: bool,
    seen: [u32; 3],
}

static WORKERS: [Slot; 4] = [const { Slot { hits: AtomicU64::new(0), other: AtomicU64::new(0) } }; 4];
static TOTAL: AtomicU64 = AtomicU64::new(0);

#[repr(align(64))]
struct Aligned<T>(T);

static COUNTERS: Aligned<[AtomicU64; 2]> = Aligned([const { AtomicU64::new(0) }; 2]);
static LOCKED: Mutex<(u32, u64)> = Mutex::new((0, 0));

struct Slot {
    hits: AtomicU64,
    other: AtomicU64,
}

impl Session {
    #[inline(never)]
    fn get(&self, base: usize) {
        self.refs.fetch_add(1, Relaxed);
        hook::touch("arc", base, &self.refs);
        black_box(self);
    }

    #[inline(always)]
    fn check(&self, base: usize) {
        self.limits.bytes.fetch_add(1, Relaxed);
        hook::touch("arc", base, &self.limits.bytes);
        hook::code("check"); // check
        black_box(self);
    }
}

#[repr(align(64))]
struct Padded(AtomicU64);

struct Table {
    rows: Box<[Padded]>,
    shared: Arc<Mutex<Shared>>,
}

struct Shared {
    count: u64,
    limit: u32,
    names: Vec<String>,
}

impl Table {
    #[inline(never)]
    fn change(&self) {
        self.rows[2].0.fetch_add(1, Relaxed);
        hook::touch("rows", self.rows.as_ptr() as usize, &self.rows[2].0);
        let base = Arc::as_ptr(&self.shared) as usize - 16;
        let mut shared = self.shared.lock().unwrap();
        shared.limit += 1;
        hook::touch("mutex", base, &shared.limit);
        black_box((self, shared.names.len(), shared.count));
    }
}

trait Act {
    fn act(&self);
}

impl Act for Session {
    #[inline(never)]
    fn act(&self) {
        let inner = || {
            hook::code("closure"); // closure
            black_box(self);
        };
        call(inner);
        black_box(self);
    }
}

#[inline(never)]
fn call(inner: impl Fn()) {
    inner();
    black_box(&inner);
}

#[inline(never)]
fn run(session: &Arc<Session>, base: usize) {
    session.get(base);
    session.check(base); // run
    black_box(session);
}

#[inline(never)]
fn work(workers: &mut [Worker], base: usize) {
    for worker in workers {
        worker.misses += 1;
        hook::touch("vec", base, &worker.misses);
        worker.seen[1] += 1;
        hook::touch("vec", base, &worker.seen[1]);
        black_box(worker);
    }
}

#[inline(never)]
fn look(map: &HashMap<u64, Slot>, slots: &Arc<[Slot]>, base: usize) {
    if let Some(slot) = map.get(&7) {
        slot.other.fetch_add(1, Relaxed);
        hook::touch("map", base, &slot.other);
    }
    slots[1].other.fetch_add(1, Relaxed);
    hook::touch("slice", Arc::as_ptr(slots) as *const u8 as usize - 16, &slots[1].other);
    black_box((map, slots));
}

fn main() {
    hook::data("WORKERS[2].other", &WORKERS[2].other);
    hook::data("TOTAL", &TOTAL);
    hook::data("COUNTERS[1]", &COUNTERS.0[1]);
    WATCHED.store(16 + size_of::<Session>() as u64, Relaxed);
    let limits = Limits { requests: AtomicU64::new(0), bytes: AtomicU64::new(0) };
    let session = Session { refs: AtomicU64::new(0), name: [0; 40], limits, rest: [0; 8] };
    let session = black_box(Arc::new(session));
    let base = Arc::as_ptr(&session) as usize - 16;
    run(&session, base);
    session.act();
    hook::touch("arc", base, base as *const u64);
    WATCHED.store(6 * size_of::<Worker>() as u64, Relaxed);
    let mut workers = black_box(vec![Worker { hits: 0, misses: 0, busy: false, seen: [0; 3] }; 6]);
    let base = workers.as_ptr() as usize;
    work(&mut workers[2..4], base);
    // Four slots, and a byte for each and 16 after them.
    WATCHED.store(4 * 24 + 4 + 16, Relaxed);
    let mut map = HashMap::new();
    map.insert(7, Slot { hits: AtomicU64::new(0), other: AtomicU64::new(0) });
    let base = FOUND.load(Relaxed) as usize;
    WATCHED.store(16 + 3 * 16, Relaxed);
    let slots: Vec<Slot> = (0..3)
        .map(|_| Slot { hits: AtomicU64::new(0), other: AtomicU64::new(0) })
        .collect();
    look(&black_box(map), &black_box(slots.into()), base);
    let shared = Shared { count: 0, limit: 1, names: Vec::new() };
    let rows = [const { Padded(AtomicU64::new(0)) }; 4].into();
    let table = black_box(Table { rows, shared: Arc::new(Mutex::new(shared)) });
    table.change();
    println!("data mutex {:x}", 16 + size_of::<Mutex<Shared>>());
    black_box((&LOCKED, &workers[0].hits, &workers[1].busy, session.name[0], session.rest[0]));
    black_box((&session.limits.requests, &WORKERS[0].hits));
}
