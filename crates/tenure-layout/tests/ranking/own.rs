//! Findings in this test's own executable: a Rust program with debugging information, threads' counters in an array,
//! neighbouring locks, and counters among configuration.

use std::hint::black_box;
// std's own types, as programs have them.
#[allow(clippy::disallowed_types)]
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex};

use tenure_find::{Finding, Report, Role, Sharing, Source};
use tenure_types::read::Input;

use super::{find, report, request};

#[allow(clippy::disallowed_types)]
type Word = AtomicU64;

#[repr(C)]
struct PerThread {
    done: Word,
    id: u64,
}

static WORKERS: [PerThread; 16] = [const { PerThread { done: Word::new(0), id: 7 } }; 16];
static STRIPES: [Mutex<u32>; 32] = [const { Mutex::new(0) }; 32];

/// On one line by construction, as a linker may put two variables.
#[repr(C, align(64))]
struct Shared {
    hits: Word,
    limit: u64,
    next: Option<Box<u64>>,
}

static SHARED: Shared = Shared { hits: Word::new(0), limit: 9, next: None };

#[repr(C)]
struct Config {
    name: &'static str,
    limit: u64,
}

/// Keeps everything in the executable.
fn use_all() {
    for worker in &WORKERS {
        worker.done.fetch_add(black_box(worker.id), Ordering::Relaxed);
    }
    for stripe in &STRIPES {
        *stripe.lock().unwrap() += 1;
    }
    SHARED.hits.fetch_add(SHARED.limit + SHARED.next.is_some() as u64, Ordering::Relaxed);
    let config = black_box(Arc::new(Config { name: "a", limit: 3 }));
    black_box((config.name, config.limit));
}

/// The slowest input of these tests.
static OWN: LazyLock<Report> = LazyLock::new(|| {
    use_all();
    let mut request = request("", &[]);
    request.input = Input::File(std::env::current_exe().unwrap());
    request.top = usize::MAX;
    report(&request)
});

fn in_array(finding: &Finding, name: &str, bytes: u64) -> bool {
    matches!(&finding.sharing, Sharing::Elements { array, stride, .. } if array.ends_with(name) && *stride == bytes)
}

#[test]
fn threads_counters_locks_and_a_shared_object_are_found_in_this_program() {
    let report = &*OWN;
    assert!(matches!(&report.source, Source::Types(types) if types.format == "dwarf"));
    let workers = find(report, "an array of counters", |finding| in_array(finding, "WORKERS", 16));
    assert_eq!(workers.contended.path, "[0].done");
    let stripes = find(report, "an array of locks", |finding| {
        in_array(finding, "STRIPES", size_of::<Mutex<u32>>() as u64)
    });
    assert!(stripes.victims.iter().any(|victim| victim.role.is_contended()), "{stripes:#?}");
    let shared = find(report, "a counter beside its limit", |finding| {
        finding.type_name.ends_with("own::Shared") && finding.sharing == Sharing::Within
    });
    assert_eq!(shared.contended.path, "hits");
    assert!(shared.victims.iter().any(|victim| victim.path == "limit"), "{shared:#?}");
    assert_eq!(shared.confidence.placements, 1.0, "{shared:#?}");
    let inner = find(report, "the inside of an Arc", |finding| {
        finding.type_name.starts_with("alloc::sync::ArcInner<")
            && finding.type_name.contains("Config")
    });
    assert_eq!(inner.contended.role, Role::Count);
    assert!(inner.victims.iter().any(|victim| victim.path.starts_with("data")), "{inner:#?}");
}

#[test]
fn the_lines_of_std_s_own_types_have_no_strangers() {
    // A lock belongs beside what it guards: no high score for a Mutex by itself.
    for finding in &OWN.findings {
        let name = &finding.type_name;
        let alone = !matches!(finding.sharing, Sharing::Elements { .. });
        if alone && name.starts_with("std::sync::") && name.contains("mutex::Mutex<") {
            assert!(finding.score < 20.0, "{finding:#?}");
        }
    }
}
