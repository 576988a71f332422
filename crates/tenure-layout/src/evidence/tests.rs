use super::*;
use crate::fixtures::Maker;
use tenure_code::sweep::OperandUse;

/// `outer` has an `inner` at 8; both have an `int` `count` at 0 and a pointer `ops` at 32 and 40.
struct Program {
    model: Model,
    inner: TypeId,
    outer: TypeId,
    link: TypeId,
}

fn program() -> Program {
    let mut maker = Maker::new();
    let (int, pointer) = (maker.int, maker.pointer);
    let inner = maker.add("inner", 40, &[("count", 0, int), ("ops", 32, pointer)]);
    let link = maker.add("link", 16, &[("next", 0, pointer), ("prev", 8, pointer)]);
    let members =
        [("count", 0, int), ("inner", 8, inner), ("ops", 48, pointer), ("link", 56, link)];
    let outer = maker.add("outer", 72, &members);
    maker.variable("hits", ".bss", 64, int, "");
    Program { model: maker.finish_dwarf(), inner, outer, link }
}

/// Functions with what each does to a part: reads, writes, additions, compare-exchanges.
fn sweep(all: &[(&str, Subject, u32, [u32; 4])]) -> Sweep {
    let mut sweep = Sweep::default();
    let mut names: Vec<&str> = all.iter().map(|one| one.0).collect();
    names.sort_unstable();
    names.dedup();
    sweep.functions = names.iter().map(|name| (*name).into()).collect();
    for (name, subject, offset, [reads, writes, adds, exchanges]) in all.iter().copied() {
        let function = u32::try_from(names.binary_search(&name).unwrap()).unwrap();
        let weight = reads + writes + adds + exchanges;
        let counts =
            OperandCounts { reads, writes, adds, exchanges, weight, ..OperandCounts::default() };
        let part = AccessedPart { subject, offset, size: 4 };
        sweep.uses.push(OperandUse { part, function, counts });
    }
    sweep.uses.sort_by_key(|one| (one.part, one.function));
    sweep
}

fn member<'m>(model: &'m Model, owner: TypeId, name: &str) -> &'m Member {
    model[owner].kind.members().iter().find(|member| &*member.name == name).unwrap()
}

const ADD: [u32; 4] = [0, 0, 1, 0];
const READ: [u32; 4] = [1, 0, 0, 0];
const WRITE: [u32; 4] = [0, 1, 0, 0];

#[test]
fn a_number_that_is_added_to_atomically_is_contended_in_every_type_on_the_way() {
    let Program { model, inner, outer, .. } = program();
    let sweep =
        sweep(&[("accept", Subject::Type(outer), 8, ADD), ("hit", Subject::Static(0), 0, ADD)]);
    let evidence = CodeEvidence::new(&model, &sweep);
    let role =
        |owner, name| evidence.of_word(&model, owner, member(&model, owner, name)).unwrap().role();
    assert_eq!(role(inner, "count"), Some(Role::Atomic));
    assert_eq!(role(outer, "count"), None);
    assert_eq!(evidence.of_static_word(&model, 0).unwrap().role(), Some(Role::Atomic));
    let uses = evidence.of_type(inner, 0, 4);
    assert_eq!(
        uses.changed(&evidence).unwrap(),
        "added to by 1 locked instruction in 1 function: accept"
    );
}

#[test]
fn what_only_a_setup_changes_is_not_contended_and_if_many_read_it_read_mostly() {
    let Program { model, outer, .. } = program();
    let readers = ["a", "b", "c", "d", "e", "f"].map(|name| (name, Subject::Type(outer), 0, READ));
    let mut all = readers.to_vec();
    all.push(("outer_init", Subject::Type(outer), 0, ADD));
    let role = |all: &[(&str, Subject, u32, [u32; 4])]| {
        let evidence = CodeEvidence::new(&model, &sweep(all));
        evidence.of_word(&model, outer, member(&model, outer, "count")).unwrap().role()
    };
    assert_eq!(role(&all), Some(Role::ReadMostly));
    assert_eq!(role(&all[1..]), None, "five readers are not many");
    all.push(("steal", Subject::Type(outer), 0, WRITE));
    assert_eq!(role(&all), Some(Role::ReadMostly), "one writer for six readers");
    all.push(("give", Subject::Type(outer), 0, WRITE));
    assert_eq!(role(&all), None);
}

#[test]
fn what_is_known_of_an_embedded_type_by_itself_counts_for_what_embeds_it_if_it_is_large() {
    let Program { model, inner, outer, link } = program();
    let all = [("f", Subject::Type(inner), 0, READ), ("g", Subject::Type(link), 0, READ)];
    let evidence = CodeEvidence::new(&model, &sweep(&all));
    let through = |ty, at, inside| {
        let way = [(outer, 72, at), (ty, model[ty].size, inside)];
        evidence.of_member(way.into_iter(), 4).readers().count()
    };
    assert_eq!((through(inner, 8, 0), through(link, 56, 0)), (1, 0));
}

#[test]
fn a_small_type_is_contended_only_if_most_of_its_writers_are_atomic() {
    let Program { model, link, .. } = program();
    let of = |writers: usize| {
        let names: Vec<String> = (0..writers).map(|at| format!("w{at}")).collect();
        let mut all: Vec<_> =
            names.iter().map(|name| (&**name, Subject::Type(link), 0, WRITE)).collect();
        all.push(("add", Subject::Type(link), 0, ADD));
        let evidence = CodeEvidence::new(&model, &sweep(&all));
        evidence.of_word(&model, link, member(&model, link, "next")).unwrap().role()
    };
    assert_eq!((of(1), of(2)), (Some(Role::Atomic), None));
}

#[test]
fn readers_that_do_not_take_the_lock_are_a_share_of_those_in_use() {
    let Program { model, outer, .. } = program();
    let all = [
        ("take", Subject::Type(outer), 0, ADD),
        ("take", Subject::Type(outer), 48, READ),
        ("peek", Subject::Type(outer), 48, READ),
        ("outer_free", Subject::Type(outer), 48, READ),
    ];
    let evidence = CodeEvidence::new(&model, &sweep(&all));
    let (lock, ops) = (evidence.of_type(outer, 0, 4), evidence.of_type(outer, 48, 8));
    assert!((ops.read_without(&evidence, &lock, false) - 0.5).abs() < 1e-9);
    let none = Uses::default();
    assert!(ops.read_without(&evidence, &none, false).abs() < 1e-9, "no function takes it");
}

#[test]
fn heat_grows_with_functions_and_is_little_for_what_begins_or_ends_an_object() {
    let Program { model, outer, .. } = program();
    let heat = |names: &[&str]| {
        let all: Vec<_> = names.iter().map(|name| (*name, Subject::Type(outer), 0, ADD)).collect();
        let evidence = CodeEvidence::new(&model, &sweep(&all));
        evidence.of_type(outer, 0, 4).heat(Some(&evidence))
    };
    let (none, cold, one, many) = (
        heat(&[]),
        heat(&["outer_open", "outer_close"]),
        heat(&["get"]),
        heat(&["a", "b", "c", "d"]),
    );
    assert!(none < cold && cold < one && one < many && many <= 1.0, "{none} {cold} {one} {many}");
}

#[test]
fn code_that_is_hardly_known_makes_no_word_cold() {
    let Program { model, outer, .. } = program();
    let evidence = CodeEvidence { unknown: 1.0, ..CodeEvidence::new(&model, &sweep(&[])) };
    assert!((evidence.of_type(outer, 0, 4).heat(Some(&evidence)) - 1.0).abs() < 1e-9);
}

#[test]
fn a_plain_number_is_written_by_many_if_functions_that_take_a_lock_update_it() {
    let Program { model, outer, .. } = program();
    let of = |name| (name, Subject::Type(outer), 0, [1, 1, 0, 0]);
    let all = [of("give"), of("outer_init"), of("take"), ("set", Subject::Type(outer), 0, WRITE)];
    let is_written = |lockers: &[&str]| {
        let mut sweep = sweep(&all);
        let number = |name: &&str| sweep.functions.iter().position(|it| **it == **name).unwrap();
        sweep.lockers = lockers.iter().map(number).map(|at| u32::try_from(at).unwrap()).collect();
        let evidence = CodeEvidence::new(&model, &sweep);
        evidence.of_word(&model, outer, member(&model, outer, "count")).unwrap().is_written
    };
    assert!(is_written(&["give", "take"]));
    assert!(!is_written(&["give"]), "another thread may never run the other");
    assert!(!is_written(&["give", "outer_init"]), "one of them begins an object");
    assert!(!is_written(&["give", "set"]), "one of them does not read it");
}

#[test]
fn a_word_that_is_swapped_once_and_written_in_many_functions_is_a_plain_one() {
    let Program { model, outer, .. } = program();
    let names = ["a", "b", "c", "d", "e"].map(|name| (name, Subject::Type(outer), 0, WRITE));
    let is_contended = |writers: usize| {
        let mut all = names[..writers].to_vec();
        all.push(("swap", Subject::Type(outer), 0, ADD));
        let evidence = CodeEvidence::new(&model, &sweep(&all));
        evidence.of_type(outer, 0, 4).is_contended()
    };
    assert_eq!((is_contended(3), is_contended(4)), (true, false));
}

#[test]
fn the_heat_of_an_atomic_word_is_of_those_that_change_it_atomically() {
    let Program { model, outer, .. } = program();
    let heat = |counts: [u32; 4]| {
        let all = ["a", "b", "c"].map(|name| (name, Subject::Type(outer), 0, counts));
        let all = [all.as_slice(), &[("swap", Subject::Type(outer), 0, ADD)]].concat();
        let evidence = CodeEvidence::new(&model, &sweep(&all));
        evidence.of_type(outer, 0, 4).heat(Some(&evidence))
    };
    assert!(heat(WRITE) < heat(ADD), "plain writes are not atomic ones");
}

#[test]
fn a_lock_guards_what_most_of_its_users_take_it_for() {
    let Program { model, outer, .. } = program();
    let all = [
        ("take", Subject::Static(0), 0, ADD),
        ("take", Subject::Type(outer), 48, WRITE),
        ("also", Subject::Static(0), 0, ADD),
        ("also", Subject::Type(outer), 48, READ),
        ("peek", Subject::Type(outer), 48, READ),
        ("outer_init", Subject::Type(outer), 48, WRITE),
    ];
    let evidence = CodeEvidence::new(&model, &sweep(&all));
    let (lock, ops) = (evidence.of_static(0, 0, 4), evidence.of_type(outer, 48, 8));
    assert!((ops.used_with(&lock).unwrap() - 2.0 / 3.0).abs() < 1e-9);
    assert_eq!(ops.used_with(&Uses::default()), None, "no function takes it");
}
