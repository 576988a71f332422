//! Findings in this test's own executable: a Rust program with debugging information, threads' counters in an array,
//! neighbouring locks, and counters among configuration.

use std::hint::black_box;
// std's own types, as programs have them.
#[allow(clippy::disallowed_types)]
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex};

use tenure_debuginfo::read::Input;
use tenure_model::{Finding, Origin, Report, Role, Sharing, Source};

use super::{find, report, request};
use tenure_layout::run::run;

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

/// Two instances.
struct Slot<T> {
    refs: Word,
    next: T,
}

static SLOTS: (Slot<u8>, Slot<u16>) =
    (Slot { refs: Word::new(0), next: 1 }, Slot { refs: Word::new(0), next: 2 });

/// Keeps everything in the executable.
fn use_all() {
    for worker in &WORKERS {
        worker.done.fetch_add(black_box(worker.id), Ordering::Relaxed);
    }
    for stripe in &STRIPES {
        *stripe.lock().unwrap() += 1;
    }
    SHARED.hits.fetch_add(SHARED.limit + SHARED.next.is_some() as u64, Ordering::Relaxed);
    SLOTS.0.refs.fetch_add(u64::from(SLOTS.0.next), Ordering::Relaxed);
    SLOTS.1.refs.fetch_add(u64::from(SLOTS.1.next), Ordering::Relaxed);
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

#[test]
fn findings_have_an_origin_and_the_first_list_has_the_program_s_own() {
    let mut request = request("", &[]);
    request.input = Input::File(std::env::current_exe().unwrap());
    request.top = usize::MAX;
    request.all = false;
    let first = report(&request);
    let of = |report: &Report, origin| {
        report.findings.iter().filter(|finding| finding.origin == origin).count() as u64
    };
    let counts = |report: &Report| {
        [Origin::Yours, Origin::Dependency, Origin::Standard].map(|origin| of(report, origin))
    };
    let [yours, dependencies, standard] = counts(&OWN);
    assert!(yours > 0 && standard > 0, "{:?}", counts(&OWN));
    assert_eq!(counts(&first), [yours, 0, 0]);
    assert_eq!((first.scope.dependencies, first.scope.standard), (dependencies, standard));
    let config = find(&first, "T of an Arc", |finding| finding.type_name.contains("own::Config>"));
    assert!(config.type_name.starts_with("alloc::sync::ArcInner<"), "{config:#?}");

    request.declared_in = vec!["ranking::own".to_owned()];
    let module = report(&request);
    assert!(!module.findings.is_empty());
    // Variables are of a section.
    let named = |finding: &&Finding| finding.type_name.contains("::");
    let mut named = module.findings.iter().filter(named);
    assert!(named.all(|finding| finding.type_name.contains("ranking::own::")));
    request.declared_in = vec!["nowhere".to_owned()];
    let error = run(&request, &()).unwrap_err().to_string();
    assert!(error.contains("crates are") && error.contains("ranking"), "{error}");
}

#[test]
fn instances_of_one_generic_type_are_one_finding() {
    let slots = OWN.findings.iter().filter(|finding| {
        finding.type_name.contains("own::Slot<") && finding.sharing == Sharing::Within
    });
    let [slot] = slots.collect::<Vec<_>>()[..] else { panic!("not one") };
    assert_eq!(slot.instances, 2);
}

#[test]
fn every_word_has_a_name() {
    for finding in &OWN.findings {
        assert!(finding.words().iter().all(|word| !word.path.is_empty()), "{finding:#?}");
    }
}

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
