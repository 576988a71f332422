//! Every ordering of the counts and of `Arc` is needed: the shipping code, with one of them made Relaxed, has to
//! fail.
//!
//! The operations of [`Loom`] know who calls them. A [`Needed`] names an ordering by where it is written, and where it
//! takes effect; a model runs with the operations of that place weakened, and has to fail in the way predicted. That the
//! list is complete is a test of its own, which reads the source.

use super::arc::{
    born_under_upgrades, clones_drop, drop_upgrade_drop_weak, unique_under_upgrade,
    unshared_after_a_clone, weaks_counted_under_the_last_drop,
};
use super::counts::{get_acquire_after_put, get_put_put, get_put_put_last};
use super::memory::{InOrder, Loom, Site, weakened};
use super::stage::Failure::{Claim, MemoryRace, ValueRace};
use super::stage::{ALL, Failure, Preemptions, fails};
use super::ticket::{freed_at_once_by_its_holders, freed_at_once_under_lookups};
use tenure::arc::Counts;
use tenure::count::{IncNotZero, RcuRef, TicketRef};
use tenure::memory::Ordering::{self, Acquire, Release};

/// A source file: the end of its path, and its text.
type File = (&'static str, &'static str);

macro_rules! file {
    ($path:literal) => {
        ($path, include_str!(concat!("../../", $path)))
    };
}

const COUNTS: File = file!("src/arc/counts.rs");
const TICKET: File = file!("src/count/ticket/mod.rs");
const PRIVATE: File = file!("src/count/ticket/private.rs");
const RCUREF: File = file!("src/count/rcuref.rs");
const INC_NOT_ZERO: File = file!("src/count/inc_not_zero.rs");
const MODELS: File = file!("tests/models/counts.rs");

/// Where the operation is that an ordering ends up in.
enum At {
    /// Where the ordering is written.
    Here,
    /// In that function, which is given the ordering.
    In(File, &'static str),
    /// In a function that is `#[track_caller]`, under any caller.
    Anywhere,
}
use At::{Anywhere, Here, In};

/// An ordering, and the model that fails without it.
struct Needed {
    file: File,
    function: &'static str,
    order: Ordering,
    operation: &'static str,
    at: At,
    preemptions: Preemptions,
    failure: Failure,
    model: fn(),
}

macro_rules! needed {
    ($($file:ident $function:literal $order:ident $operation:ident $at:expr
        => $failure:expr, $preemptions:expr, $model:expr;)*) => {
        &[$(Needed {
            file: $file,
            function: $function,
            order: $order,
            operation: stringify!($operation),
            at: $at,
            preemptions: $preemptions,
            failure: $failure,
            model: || $model,
        }),*]
    };
}

const TWO_OF_TWO: Failure = Claim("neither both Weaks nor none");

const NEEDED: &[Needed] = needed! {
    COUNTS "drop_weak" Release fetch_sub Here
        => MemoryRace, Some(2), drop_upgrade_drop_weak::<Counts<Loom>>();
    COUNTS "drop_weak" Acquire load Here
        => MemoryRace, Some(2), drop_upgrade_drop_weak::<Counts<Loom>>();
    COUNTS "only_common" Acquire load Here
        => MemoryRace, Some(2), drop_upgrade_drop_weak::<Counts<Loom>>();
    COUNTS "is_unique" Acquire load In(TICKET, "read_with")
        => ValueRace, Some(2), unique_under_upgrade::<Counts<Loom>>();
    COUNTS "try_lock" Acquire compare_exchange Here
        => ValueRace, Some(2), unique_under_upgrade::<Counts<Loom>>();
    COUNTS "weak_count" Acquire load Here
        => TWO_OF_TWO, ALL, weaks_counted_under_the_last_drop();

    TICKET "init" Release store Here
        => ValueRace, Some(2), born_under_upgrades::<Counts<InOrder>>(1);
    TICKET "get_acquire" Acquire fetch_add Anywhere
        => ValueRace, Some(2), born_under_upgrades::<Counts<InOrder>>(1);
    TICKET "put_begin" Release fetch_sub Here
        => ValueRace, Some(2), get_put_put::<TicketRef<Loom>>();
    TICKET "put_begin" Release fetch_sub Here
        => MemoryRace, Some(2), freed_at_once_by_its_holders::<TicketRef<Loom>>();
    TICKET "put_begin" Release fetch_sub Here
        => ValueRace, Some(2), clones_drop::<Counts<Loom>>();
    TICKET "try_last" Acquire compare_exchange Here
        => ValueRace, Some(2), get_put_put_last::<TicketRef<Loom>>();
    TICKET "settle" Release compare_exchange_weak Here
        => MemoryRace, Some(2), freed_at_once_under_lookups::<TicketRef<Loom>>(2);
    TICKET "try_verdict" Acquire compare_exchange Here
        => ValueRace, Some(2), get_put_put::<TicketRef<Loom>>();

    PRIVATE "is_private_one" Acquire load Here
        => ValueRace, Some(2), unshared_after_a_clone::<Counts<Loom>>();
    PRIVATE "is_private_last" Acquire load Here
        => ValueRace, Some(2), clones_drop::<Counts<Loom>>();

    RCUREF "get_acquire" Acquire fetch_add Anywhere
        => ValueRace, Some(2), get_acquire_after_put::<RcuRef<Loom>>();
    RCUREF "put_many" Release fetch_sub Anywhere
        => ValueRace, Some(2), get_put_put::<RcuRef<Loom>>();
    RCUREF "put_last" Acquire compare_exchange In(MODELS, "get_put_put_last")
        => ValueRace, Some(2), get_put_put_last::<RcuRef<Loom>>();
    RCUREF "put_slow" Acquire compare_exchange Anywhere
        => ValueRace, Some(2), get_put_put::<RcuRef<Loom>>();

    INC_NOT_ZERO "get_acquire" Acquire compare_exchange_weak Anywhere
        => ValueRace, Some(2), get_acquire_after_put::<IncNotZero<Loom>>();
    INC_NOT_ZERO "put_many" Release fetch_sub Anywhere
        => ValueRace, Some(2), get_put_put::<IncNotZero<Loom>>();
    INC_NOT_ZERO "put_slow" Acquire load Anywhere
        => ValueRace, Some(2), get_put_put::<IncNotZero<Loom>>();
};

#[test]
fn no_ordering_of_the_counts_can_be_relaxed() {
    for needed in NEEDED {
        let Needed { file, function, order, operation, .. } = *needed;
        println!("{} {function}: {operation}, {order:?} made Relaxed", file.0);
        let lines = match needed.at {
            Here => Some(lines_of(file, function)),
            In(file, function) => Some(lines_of(file, function)),
            Anywhere => None,
        };
        let met = weakened(Site { operation, order, lines }, || {
            fails(needed.preemptions, needed.failure, needed.model);
        });
        assert!(met, "the model does not come by there");
    }
}

#[test]
fn every_ordering_of_the_counts_is_in_the_list() {
    let files = [COUNTS, TICKET, PRIVATE, RCUREF, INC_NOT_ZERO];
    let mut written = Vec::from_iter(files.into_iter().flat_map(orderings_in));
    let mut listed = Vec::from_iter(
        NEEDED.iter().map(|n| (n.file.0, n.function.to_owned(), format!("{:?}", n.order))),
    );
    for list in [&mut written, &mut listed] {
        list.sort();
    }
    let twice = written.windows(2).find(|pair| pair[0] == pair[1]);
    assert_eq!(twice, None, "the list cannot tell these two apart");
    listed.dedup();
    assert_eq!(written, listed);
}

/// Where orderings are written that ask for something: file, function, ordering.
fn orderings_in((path, text): File) -> Vec<(&'static str, String, String)> {
    let mut function = "";
    let mut found = Vec::new();
    for line in text.lines().map(str::trim_start).filter(|line| !line.starts_with("//")) {
        function = name_of_function(line).unwrap_or(function);
        let mentioned = line.split("Ordering::").skip(1);
        let words = mentioned.map(|after| after.split(|c: char| !c.is_alphanumeric()).next());
        for order in words.flatten().filter(|word| !matches!(*word, "" | "Relaxed")) {
            found.push((path, function.to_owned(), order.to_owned()));
        }
    }
    found
}

fn name_of_function(line: &str) -> Option<&str> {
    let (before, after) = line.split_once("fn ")?;
    let is_item = before.split_whitespace().all(|word| {
        word.starts_with("pub") || matches!(word, "unsafe" | "const") || word.ends_with(')')
    });
    is_item.then(|| after.split(['(', '<']).next().unwrap_or(after))
}

/// The first and the last line of a function, which ends at the first brace that stands as far in as it does.
fn lines_of((path, text): File, function: &str) -> (&'static str, u32, u32) {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let mut lines = (1..).zip(text.lines());
    let is_it = |line: &str| name_of_function(line.trim_start()) == Some(function);
    let (first, line) = lines.find(|(_, line)| is_it(line)).expect("there is such a function");
    let depth = indent(line);
    let ends = |line: &str| line.trim() == "}" && indent(line) == depth;
    let (last, _) = lines.find(|(_, line)| ends(line)).expect("it ends");
    (path, first, last)
}
