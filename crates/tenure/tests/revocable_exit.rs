//! Processes that end while threads use domains: by `exit` and by the return of `main`, on whichever thread. Nothing
//! crashes or hangs.
//!
//! Without libtest, which has its own `main`. Statics are never dropped. Thread-locals of the thread that exits may be;
//! those of the others are not, and the others run on until the process is gone.

use std::cell::RefCell;
use std::process::{Command, ExitCode, Stdio, exit};
use std::sync::LazyLock;
use std::thread;
use tenure::memory::{Memory, Native, Ordering};
use tenure::rcu::{RcuCell, RcuReader};
use tenure::revocable::{Domain, LocalHandle, Strong};

/// The exit status of a child that ended as it should.
const WELL: u8 = 42;
/// Each end is tried so often: chance decides what the other threads are doing.
const TIMES: usize = 10;

/// A value that is wrong after its end.
struct Value(Vec<u64>);

impl Value {
    fn new(number: u64) -> Self {
        Self(vec![number; 20])
    }

    fn check(&self) {
        assert!(self.0.iter().all(|number| *number == self.0[0]) && self.0.len() == 20);
    }
}

impl Drop for Value {
    fn drop(&mut self) {
        self.check();
        self.0.iter_mut().enumerate().for_each(|(at, number)| *number = at as u64);
    }
}

struct NeverDropped;

impl Drop for NeverDropped {
    fn drop(&mut self) {
        eprintln!("a static was dropped");
        std::process::abort();
    }
}

static CACHED: LazyLock<RcuCell<Value>> = LazyLock::new(|| RcuCell::new(Value::new(0)));
static STATIC: LazyLock<RcuCell<NeverDropped>> = LazyLock::new(|| RcuCell::new(NeverDropped));

static DOMAIN: LazyLock<Domain<Value>> = LazyLock::new(Domain::new);
static SHARED: LazyLock<Strong<Value>> = LazyLock::new(|| DOMAIN.strong(Value::new(1)));

/// What a thread owns until its end.
struct Own {
    local: LocalHandle<Value>,
    last: Option<Strong<Value>>,
    reader: RcuReader<Value>,
}

impl Own {
    fn new() -> Self {
        let mut local = DOMAIN.register();
        let last = DOMAIN.strong(Value::new(2));
        local.enter(&last).check();
        let mut reader = CACHED.reader();
        reader.load().check();
        Self { local, last: Some(last), reader }
    }

    fn use_all(&mut self, turn: u64) {
        self.local.enter(&SHARED).check();
        let made = DOMAIN.strong(Value::new(turn));
        let guard = self.local.enter(&made);
        drop(made);
        guard.check();
        drop(guard);
        let nested = CACHED.load();
        if turn % 4 == 0 {
            CACHED.store(Value::new(turn));
        }
        self.reader.load().check();
        nested.check();
    }

    fn use_for_ever(&mut self) -> ! {
        let mut turn = 0;
        loop {
            self.use_all(turn);
            turn += 1;
        }
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        drop(self.last.take());
        self.use_all(3);
    }
}

thread_local! {
    static OWN: RefCell<Vec<Box<dyn std::any::Any>>> = const { RefCell::new(Vec::new()) };
}

fn keep() {
    OWN.with_borrow_mut(|all| all.push(Box::new(Own::new())));
}

/// Leaves threads at work, and some asleep, and ends.
fn end(how: &str) -> ExitCode {
    drop(STATIC.load());
    SHARED.check();
    CACHED.load().check();
    keep();
    static AT_WORK: <Native as Memory>::AtomicU32 = <Native as Memory>::AtomicU32::new(0);
    for sleeps in [false, false, true] {
        thread::spawn(move || {
            keep();
            let mut own = Own::new();
            let (_guard, _nested) = (CACHED.load(), CACHED.load());
            // Relaxed, here and below: passes nothing on.
            AT_WORK.fetch_add(1, Ordering::Relaxed);
            if sleeps {
                let _active = own.local.enter(&SHARED);
                loop {
                    thread::park();
                }
            }
            own.use_for_ever();
        });
    }
    while AT_WORK.load(Ordering::Relaxed) < 3 {
        thread::yield_now();
    }
    let mut mine = Own::new();
    (0..20).for_each(|turn| mine.use_all(turn));
    match how {
        "exit" => exit(WELL.into()),
        "exit-in-use" => {
            let _guards = (CACHED.load(), CACHED.load(), mine.local.enter(&SHARED));
            exit(WELL.into())
        }
        "exit-elsewhere" => {
            thread::spawn(|| {
                keep();
                exit(WELL.into())
            });
            mine.use_for_ever()
        }
        "return" => ExitCode::from(WELL),
        _ => panic!("no such end: {how}"),
    }
}

fn child(how: &str) -> ExitCode {
    // Ends a child that hangs.
    #[cfg(unix)]
    // SAFETY: sets a timer.
    unsafe {
        libc::alarm(60)
    };
    end(how)
}

fn main() -> ExitCode {
    let arguments = Vec::from_iter(std::env::args().skip(1));
    if let [word, how] = &arguments[..] {
        if word == "child" {
            return child(how);
        }
    }
    for how in ["exit", "exit-in-use", "exit-elsewhere", "return"] {
        for time in 0..TIMES {
            let ended = Command::new(std::env::current_exe().unwrap())
                .args(["child", how])
                .stdin(Stdio::null())
                .status()
                .unwrap();
            if ended.code() != Some(WELL.into()) {
                eprintln!("{how}, time {time}: {ended}, and not {WELL}");
                return ExitCode::FAILURE;
            }
        }
        println!("a process ends well: {how}: ok");
    }
    ExitCode::SUCCESS
}
