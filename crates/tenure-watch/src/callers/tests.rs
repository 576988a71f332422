//! Stacks of programs that are written here.

use super::*;

#[test]
fn a_modules_file_is_read_once_until_the_program_has_other_code() {
    let path = std::env::current_exe().unwrap().to_str().unwrap().to_owned();
    let module = Module { path, start: 0x1000, end: 0x3000, bias: 0 };
    let mut callers = Callers::new(vec![module.clone()], Vec::new());
    let (_, first) = callers.file(0x1000).unwrap();
    assert!(Rc::ptr_eq(&first, &callers.file(0x2000).unwrap().1));
    assert!(callers.file(0x3000).is_none());
    callers.set(vec![module]);
    assert!(!Rc::ptr_eq(&first, &callers.file(0x1000).unwrap().1));
}

/// This test's own file has tables and symbols.
#[test]
fn a_file_says_how_to_go_up_from_an_address() {
    let file = Unwound::open(&std::env::current_exe().unwrap()).unwrap();
    let (start, end, _) = *file
        .functions
        .iter()
        .find(|(start, ..)| {
            let name = file.function(start + 1).unwrap_or_default();
            name.contains("a_file_says_how_to_go_up_from_an_address")
        })
        .unwrap();
    assert!(start < end && !file.is_foreign(start + 1));
    // At its first instruction the return address lies on top of the stack, or is in a register.
    let is_on_stack = Registers::default().link().is_none();
    let (canonical, back) = if is_on_stack { (0x1008, Some(0x1000)) } else { (0x1000, None) };
    let step = file.step(start, 0x1000, 0x2000, !is_on_stack).unwrap();
    assert_eq!((step.canonical, step.frame, step.back), (canonical, None, back));
}

const STACK_AT: u64 = 0x7000_0000;
const CODE_AT: u64 = 0x10_0000;

/// A program with these functions of 256 bytes, each with so many words of the stack; no tables of those with none.
pub(crate) fn program(functions: &[(&str, Option<i64>)]) -> Callers {
    let mut file = Unwound::default();
    for (at, (name, words)) in functions.iter().enumerate() {
        let start = 0x100 * at as u64;
        let index = SymbolIndex(at);
        file.functions.push((start, start + 0x100, index));
        file.names.get_mut().insert(index, Some((*name).to_owned()));
        let rule = |words| Rule { register: STACK, offset: 8 * words, frame: None, back: Some(-8) };
        for inside in start..start + 0x100 {
            file.rules.get_mut().insert(inside, words.map(rule));
        }
    }
    let path = "/nowhere/program".to_owned();
    let module =
        Module { path: path.clone(), start: CODE_AT, end: CODE_AT + 0x1_0000, bias: CODE_AT };
    let mut callers = Callers::new(vec![module], vec!["wrap".to_owned()]);
    callers.files.get_mut().insert(path, Rc::new(file));
    callers
}

/// An address in the function of this number.
pub(crate) fn inside(function: u64) -> u64 {
    CODE_AT + 0x100 * function + 0x80
}

/// A thread in the first function, with these words on its stack.
pub(crate) fn sample(words: &[u64]) -> Sample {
    let mut registers = Registers::default();
    registers.0[Registers::SP] = STACK_AT;
    let mut sample = Sample { ip: inside(0), registers: Some(registers), ..Sample::default() };
    sample.stack[..words.len()].copy_from_slice(words);
    sample
}

fn own_calls(callers: &mut Callers, sample: &Sample) -> Vec<u64> {
    let mut calls = CallStack::new(sample.ip, sample);
    (0..4).map_while(|which| calls.own(which, callers)).collect()
}

#[test]
fn callers_are_the_programs_own_functions_further_out() {
    let functions = [
        ("bump", Some(2)),
        ("wrap", Some(1)),
        ("_ZNSt6vectorIiE4eachEv", Some(1)),
        ("often", Some(3)),
        ("serve", Some(1)),
    ];
    let words = [7, inside(1), inside(2), inside(3), 7, 7, inside(4), inside(4)];
    let own = own_calls(&mut program(&functions), &sample(&words));
    assert_eq!(own, [inside(3), inside(4), inside(4)]);
    // A call that does not come back is the end of its function.
    let after = inside(2) - 0x80;
    let functions = [("bump", Some(1)), ("often", Some(1)), ("other", Some(9))];
    let own = own_calls(&mut program(&functions), &sample(&[after, inside(1)]));
    assert_eq!(own, [after, inside(1)]);
}

#[test]
fn what_a_thread_or_a_program_begins_with_is_no_caller() {
    for (outermost, is_shown) in [
        ("main", true),
        ("_start", false),
        ("_ZN3std3sys9backtrace28__rust_begin_short_backtrace17h2f0a1b7b0a0b7c1dE", false),
    ] {
        // Beyond Rust's there is the C library's `main`, which is no function of the program either.
        let functions = [("bump", Some(1)), (outermost, Some(1)), ("main", Some(1))];
        let own = own_calls(&mut program(&functions), &sample(&[inside(1), inside(2), inside(2)]));
        assert_eq!(own, [inside(1)][..usize::from(is_shown)], "{outermost}");
    }
    // A thread that is in it, as what it calls is inlined there.
    let functions = [("__rust_begin_short_backtrace", Some(1)), ("main", Some(1))];
    assert_eq!(own_calls(&mut program(&functions), &sample(&[inside(1)])), [0; 0]);
}

#[test]
fn a_stack_that_is_not_known_has_no_callers() {
    let both = [("bump", Some(2)), ("often", Some(2))];
    let first = inside(1);
    for (about, functions, words, expected) in [
        ("known", both, vec![7, first, 7, first], vec![first, first]),
        ("a caller deeper than what was copied", [("bump", Some(40)), both[1]], vec![], vec![]),
        ("no table of the function", [("bump", None), both[1]], vec![7, first], vec![]),
        ("none of its caller", [both[0], ("often", None)], vec![7, first, 7, first], vec![first]),
        ("a return address that is none", both, vec![7, 0x55], vec![]),
    ] {
        let own = own_calls(&mut program(&functions), &sample(&words));
        assert_eq!(own[..own.len().min(2)], expected, "{about}");
    }
    // Without tables of unwinding the frame pointer may be any number.
    let mut callers = program(&[]);
    callers.files.get_mut().insert("/nowhere/program".to_owned(), Rc::default());
    let mut pointed = sample(&[STACK_AT, first]);
    pointed.registers.as_mut().unwrap().0[Registers::BP] = STACK_AT;
    assert_eq!(own_calls(&mut callers, &pointed), [0; 0]);
    let go = Unwound { is_go: true, ..Unwound::default() };
    callers.files.get_mut().insert("/nowhere/program".to_owned(), Rc::new(go));
    assert_eq!(own_calls(&mut callers, &pointed)[..1], [first]);
}
