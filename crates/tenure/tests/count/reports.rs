//! What a report says, and what happens to it without a hook.

use crate::faults::recorded;
use crate::readable;
use std::num::NonZeroU16;
use std::process::{Command, Stdio};
use tenure::arc::Counts;
use tenure::count::generic::{IncNotZero, RcuRef, TicketRef};
use tenure::count::{DEAD, MAXREF, RefCount};
use tenure::fault::{Fault, FaultKind, PRINTED_FAULTS};

/// Set in the child that has no hook.
const CHILD: &str = "TENURE_TEST_WITHOUT_HOOK";

const MANY: NonZeroU16 = NonZeroU16::new(3).unwrap();
const DEAD_TICKET: u64 = (DEAD as u64) << 32 | 1 << 31;
const FULL_TICKET: u64 = (MAXREF as u64) << 32 | 1 << 31;

fn only_fault<R>(action: impl FnOnce() -> R) -> Fault {
    let (_, faults) = recorded(action);
    assert_eq!(faults.len(), 1, "{faults:?}");
    faults[0]
}

macro_rules! assert_located_here {
    ($call:expr) => {{
        let (fault, line) = (only_fault(|| $call), line!());
        assert_eq!((fault.location.file(), fault.location.line()), (file!(), line), "{fault}");
    }};
}

#[test]
fn a_report_names_the_line_that_called_the_count() {
    assert_located_here!(IncNotZero::from_raw(0).put());
    assert_located_here!(IncNotZero::from_raw(0).put_many(MANY));
    assert_located_here!(IncNotZero::from_raw(0x7FFF_FFFF).get());
    assert_located_here!(IncNotZero::from_raw(0x7FFF_FFFF).get_acquire());
    assert_located_here!(IncNotZero::from_raw(0x7FFF_FFFF).get_many(MANY));
    assert_located_here!(RcuRef::from_raw(DEAD).put(readable()));
    assert_located_here!(RcuRef::from_raw(DEAD).put_many(MANY, readable()));
    assert_located_here!(RcuRef::from_raw(DEAD).put_last(readable()));
    assert_located_here!(RcuRef::from_raw(MAXREF).get());
    assert_located_here!(RcuRef::from_raw(MAXREF).get_acquire());
    assert_located_here!(RcuRef::from_raw(MAXREF).get_many(MANY));
    assert_located_here!(TicketRef::from_raw(DEAD_TICKET).put());
    assert_located_here!(TicketRef::from_raw(DEAD_TICKET).put_many(MANY));
    assert_located_here!(TicketRef::from_raw(DEAD_TICKET).put_last());
    assert_located_here!(TicketRef::from_raw(FULL_TICKET).get());
    assert_located_here!(TicketRef::from_raw(FULL_TICKET).get_acquire());
    assert_located_here!(TicketRef::from_raw(FULL_TICKET).get_many(MANY));
    assert_located_here!(TicketRef::from_raw(FULL_TICKET).get_held());
}

#[test]
fn a_report_through_the_trait_names_the_generic_code_that_called() {
    fn put<C: RefCount>(count: &C, readable: C::Readable<'_>) -> (Fault, u32) {
        (only_fault(|| count.put(readable)), line!())
    }
    for (fault, line) in [
        put(&IncNotZero::from_raw(0), ()),
        put(&RcuRef::from_raw(DEAD), readable()),
        put(&TicketRef::from_raw(DEAD_TICKET), ()),
    ] {
        assert_eq!((fault.location.file(), fault.location.line()), (file!(), line), "{fault}");
    }
}

#[test]
fn a_report_from_the_counts_of_an_arc_names_their_caller() {
    let counts = Counts::new();
    let _ = counts.drop_strong();
    assert_located_here!(counts.drop_strong());
}

#[test]
fn a_report_shows_the_address_and_the_word_from_before() {
    let count = RcuRef::from_raw(MAXREF);
    let fault = only_fault(|| count.get());
    assert_eq!(fault.kind, FaultKind::Overflow);
    assert_eq!(fault.count, "RcuRef");
    assert_eq!(fault.address, (&raw const count).addr());
    assert_eq!(fault.found, u64::from(MAXREF));

    let count = TicketRef::from_raw(DEAD_TICKET + 9);
    let fault = only_fault(|| count.put());
    assert_eq!(fault.kind, FaultKind::ImbalancedPut);
    assert_eq!(fault.count, "TicketRef");
    assert_eq!(fault.address, (&raw const count).addr());
    assert_eq!(fault.found, DEAD_TICKET + 9);
}

#[test]
fn a_report_is_one_line_that_says_what_where_and_what_it_means() {
    let count = RcuRef::from_raw(MAXREF);
    let fault = only_fault(|| count.get());
    let at = format!("RcuRef at {:#x}", (&raw const count).addr());
    let (file, line) = (fault.location.file(), fault.location.line());
    let column = fault.location.column();
    assert_eq!(
        fault.to_string(),
        format!(
            "{at} overflowed (found 0x7fffffff) in {file}:{line}:{column}: \
             references leak somewhere; the object is kept forever"
        )
    );

    let count = IncNotZero::from_raw(0);
    let fault = only_fault(|| count.put());
    let text = fault.to_string();
    let at = format!("IncNotZero at {:#x}", (&raw const count).addr());
    assert!(text.starts_with(&at), "{text}");
    assert!(text.contains("was put without a reference (found 0x0)"), "{text}");
    assert!(text.contains(file!()), "{text}");
    assert!(
        text.ends_with("something releases twice; no put was told to destroy the object"),
        "{text}"
    );
    assert!(!text.contains('\n'), "{text}");
}

/// Runs the test `name` in a child without a hook, and returns the lines it wrote to standard error.
fn standard_error_of_a_child(name: &str) -> Vec<String> {
    let output = child(name).output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{error}");
    error.lines().map(String::from).collect()
}

fn child(name: &str) -> Command {
    let mut child = Command::new(std::env::current_exe().unwrap());
    let (_, module) = module_path!().split_once("::").expect("it is not the root");
    let name = format!("{module}::{name}");
    child.args(["--exact", &name, "--nocapture", "--test-threads=1"]).env(CHILD, "1");
    child
}

fn is_child() -> bool {
    std::env::var_os(CHILD).is_some()
}

#[test]
fn without_a_hook_ten_reports_are_printed_and_then_one_note() {
    if is_child() {
        let count = RcuRef::from_raw(DEAD);
        for _ in 0..PRINTED_FAULTS + 20 {
            let _ = count.put(readable());
        }
        return;
    }
    let lines =
        standard_error_of_a_child("without_a_hook_ten_reports_are_printed_and_then_one_note");
    assert_eq!(PRINTED_FAULTS, 10);
    assert_eq!(lines.len(), 11, "{lines:#?}");
    for line in &lines[..10] {
        assert!(line.starts_with("tenure: RcuRef at 0x"), "{line}");
        assert!(line.contains("was put without a reference"), "{line}");
        assert!(line.contains(file!()), "{line}");
    }
    assert_eq!(
        lines[10],
        "tenure: further reports are dropped; see tenure::process::set_fault_hook"
    );
}

#[test]
fn a_standard_error_that_is_closed_is_no_reason_to_panic() {
    if is_child() {
        let mut go = String::new();
        std::io::stdin().read_line(&mut go).unwrap();
        let _ = RcuRef::from_raw(DEAD).put(readable());
        return;
    }
    let mut child = child("a_standard_error_that_is_closed_is_no_reason_to_panic")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stderr.take());
    // Only now may it report: the pipe is broken.
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
}

#[test]
fn without_a_hook_a_program_without_faults_prints_nothing() {
    if is_child() {
        let count = RcuRef::new();
        let _ = (count.get(), count.put(readable()), count.put(readable()), count.get());
        return;
    }
    let lines = standard_error_of_a_child("without_a_hook_a_program_without_faults_prints_nothing");
    assert_eq!(lines, [""; 0]);
}

#[test]
fn set_hook_returns_the_hook_before_and_none_restores_the_default() {
    fn first(_: &Fault) {}
    fn second(fault: &Fault) {
        println!("heard by the second hook: {:?}", fault.kind);
    }
    if is_child() {
        use tenure::process::set_fault_hook;
        assert!(set_fault_hook(Some(first)).is_none());
        let before = set_fault_hook(Some(second)).unwrap();
        assert!(std::ptr::fn_addr_eq(before, first as fn(&Fault)));
        let _ = RcuRef::from_raw(DEAD).put(readable());
        assert!(set_fault_hook(None).is_some());
        let _ = RcuRef::from_raw(DEAD).put(readable());
        return;
    }
    let lines =
        standard_error_of_a_child("set_hook_returns_the_hook_before_and_none_restores_the_default");
    assert_eq!(lines.len(), 1, "only the default hook writes there: {lines:#?}");
    assert!(lines[0].starts_with("tenure: RcuRef at 0x"), "{}", lines[0]);
}

#[test]
fn a_panic_in_the_hook_leaves_the_operation_after_the_count_is_in_order() {
    fn panics(fault: &Fault) {
        panic!("{fault}");
    }
    if is_child() {
        tenure::process::set_fault_hook(Some(panics));
        let full = RcuRef::from_raw(MAXREF);
        assert!(std::panic::catch_unwind(|| full.get()).is_err());
        assert_eq!(full.raw(), tenure::count::SATURATED);
        let dead = TicketRef::from_raw(DEAD_TICKET);
        assert!(std::panic::catch_unwind(|| dead.put()).is_err());
        assert!(dead.is_dead());
        return;
    }
    standard_error_of_a_child(
        "a_panic_in_the_hook_leaves_the_operation_after_the_count_is_in_order",
    );
}
