//! Which element of an array programs compiled here write, as far as their code shows it.

use super::compile::{Sample, each};
use super::sweep::Swept;

const STATE: u32 = 8;

/// Of the writes to some bytes: how many update them, how many a variable chooses the element of, and how many the thread's
/// own variable.
#[track_caller]
fn writes(swept: &Swept, function: &str, subject: &str, offset: u32) -> [u32; 4] {
    let sum = swept.sum(function, subject, offset);
    [sum.writes, sum.updates, sum.chosen, sum.own]
}

#[test]
fn an_element_that_a_variable_chooses_is_told_from_those_that_a_loop_steps_through() {
    each("rows.c", true, |what, sample| {
        let swept = Swept::of(sample);
        for (function, subject, offset, chosen, own) in [
            ("by_argument", "counts", 0, 1, 0),
            ("by_own", "counts", 0, 1, 1),
            ("by_own_first", "counts", 0, 1, 1),
            ("by_name", "counts", 0, 0, 0),
            ("by_loop", "counts", 0, 0, 0),
            ("by_list", "table", STATE, 0, 0),
            ("in_loop", "counts", 0, 1, 0),
            ("of_struct", "table", 0, 1, 0),
            ("of_member", "pool", 8, 1, 0),
            ("of_heap", "worker", STATE, 1, 0),
            ("of_heap_loop", "worker", 0, 0, 0),
        ] {
            let found = writes(&swept, function, subject, offset);
            let is_so = [found[2].min(1), found[3].min(1)];
            assert_eq!(is_so, [chosen, own], "{what}: {function}");
            // A compiler may make a pointer of a loop's index, and that is followed into no loop.
            let is_pointer = function == "of_heap_loop" && what.contains("-O2");
            assert!(found[0] > 0 || is_pointer, "{what}: {function}");
        }
    });
}

#[test]
fn a_conditional_move_between_elements_is_an_element_that_is_not_known() {
    let flags = ["-g", "-O2", "-no-pie", "-fno-pie"];
    let Some(sample) = Sample::new("rows.c", &flags) else { return };
    assert_eq!(writes(&Swept::of(&sample), "of_either", "counts", 0), [1, 0, 0, 0]);
}

#[test]
fn a_write_that_also_reads_is_an_update() {
    let Some(sample) = Sample::new("rows.c", &["-g", "-O2"]) else { return };
    let swept = Swept::of(&sample);
    assert_eq!(writes(&swept, "update", "pool", 0), [1, 1, 0, 0]);
    assert_eq!(writes(&swept, "with_lock", "pool", 0), [1, 0, 0, 0]);
}

#[test]
fn functions_that_call_one_that_takes_a_lock_are_listed() {
    let Some(sample) = Sample::new("rows.c", &["-g", "-O2"]) else { return };
    assert_eq!(Swept::of(&sample).lockers(), ["with_lock"]);
}

#[test]
fn an_element_of_a_vec_that_is_chosen_is_told_from_all_in_turn() {
    let Some(sample) = Sample::new("rows.rs", &["-g", "-Copt-level=2"]) else { return };
    let swept = Swept::of(&sample);
    assert_eq!(writes(&swept, "Pool::finish", "rows::WorkerState", 0), [1, 1, 1, 0]);
    let reset = writes(&swept, "Pool::reset", "rows::WorkerState", STATE);
    assert!(reset[0] > 0 && reset[1..] == [0, 0, 0], "{reset:?}");
}
