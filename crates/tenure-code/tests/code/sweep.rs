//! What programs compiled here do to members and variables: exact counts.

use std::fs;
use std::path::Path;

use object::{Object as _, ObjectSection as _};

use super::assembler::Assembler;
use super::compile::{Sample, each};
use tenure_code::sweep::{self, OperandCounts, Subject, Sweep};
use tenure_debuginfo::model::Model;
use tenure_debuginfo::program::Loaded;
use tenure_debuginfo::read::{Input, Options};

pub(crate) struct Swept {
    model: Model,
    pub(crate) sweep: Sweep,
}

impl Swept {
    pub(crate) fn of(sample: &Sample) -> Self {
        Self::read(&sample.path).unwrap()
    }

    pub(crate) fn read(path: &Path) -> Result<Self, String> {
        let input = Input::File(path.to_owned());
        let (model, sweep) = sweep::read(&input, &Options::default(), &()).unwrap();
        Ok(Self { model, sweep: sweep? })
    }

    fn subject(&self, subject: Subject) -> &str {
        match subject {
            Subject::Type(id) => &self.model[id].name,
            Subject::Static(index) => &self.model.statics()[index as usize].name,
        }
    }

    /// What one function does to some bytes.
    #[track_caller]
    pub(crate) fn sum(&self, function: &str, subject: &str, offset: u32) -> OperandCounts {
        let uses = self.sweep.uses.iter().filter(|one| {
            &*self.sweep.functions[one.function as usize] == function
                && self.subject(one.part.subject) == subject
                && one.part.offset == offset
        });
        let mut sum = OperandCounts::default();
        uses.for_each(|one| sum.add(&one.counts));
        sum
    }

    /// Functions that call one that takes a lock.
    pub(crate) fn lockers(&self) -> Vec<&str> {
        let name = |function: &u32| &*self.sweep.functions[*function as usize];
        self.sweep.lockers.iter().map(name).collect()
    }

    /// What one function does to some bytes: reads, writes, additions, compare-exchanges, locks taken.
    #[track_caller]
    pub(crate) fn of_function(&self, function: &str, subject: &str, offset: u32) -> [u32; 5] {
        let sum = self.sum(function, subject, offset);
        [sum.reads, sum.writes, sum.adds, sum.exchanges, sum.locks]
    }
}

const REFS: u32 = 0;
const HITS: u32 = 8;
const OPS: u32 = 16;
const NEXT: u32 = 24;
const LOCK: u32 = 32;
const GUARDED: u32 = 40;

/// What functions of `sweep.c` do through their arguments, and through what they call returns.
pub(crate) const THROUGH_POINTERS: [(&str, &str, u32, [u32; 5]); 17] = [
    ("get", "session", REFS, [0, 0, 1, 0, 0]),
    ("put", "session", REFS, [0, 0, 1, 0, 0]),
    ("try_get", "session", REFS, [0, 0, 0, 1, 0]),
    ("swap", "session", REFS, [0, 0, 1, 0, 0]),
    ("next_hits", "session", NEXT, [1, 0, 0, 0, 0]),
    ("next_hits", "session", HITS, [1, 0, 0, 0, 0]),
    ("call", "session", OPS, [1, 0, 0, 0, 0]),
    // The outermost type that is known.
    ("embedded", "request", 8 + HITS, [0, 1, 0, 0, 0]),
    ("parent_guarded", "request", 8 + 96, [1, 0, 0, 0, 0]),
    ("parent_guarded", "session", GUARDED, [1, 0, 0, 0, 0]),
    ("set_second", "session", 56, [0, 1, 0, 0, 0]),
    ("loop", "session", GUARDED, [1, 0, 0, 0, 0]),
    ("loop", "session", NEXT, [1, 0, 0, 0, 0]),
    ("spin_lock", "lock", 0, [0, 0, 1, 0, 0]),
    ("locked", "session", LOCK, [0, 0, 0, 0, 1]),
    ("of_result", "session", HITS, [0, 1, 0, 0, 0]),
    ("of_inlined", "request", 8 + GUARDED, [0, 1, 0, 0, 0]),
];

#[test]
fn each_access_of_c_is_counted_once_under_its_function_and_member() {
    each("sweep.c", true, |what, sample| {
        let swept = Swept::of(sample);
        let others = [
            // Nothing is guessed of an index.
            ("set_element", "session", REFS, [0; 5]),
            ("of_global", "global", REFS, [0, 0, 1, 0, 0]),
            ("of_global", "plain_global", 0, [0, 1, 0, 0, 0]),
        ];
        for (function, subject, offset, expected) in THROUGH_POINTERS.into_iter().chain(others) {
            let found = swept.of_function(function, subject, offset);
            assert_eq!(found, expected, "{what}: {function} {subject} {offset}");
        }
        let writes = swept.of_function("locked", "session", GUARDED)[1];
        assert_eq!(writes, 1, "{what}");
        let [(language, operands)] = &swept.sweep.operands[..] else { panic!("{what}") };
        assert_eq!((*language, operands.locked, operands.locked_unknown), ("C", 6, 0), "{what}");
        // Without optimisation the start of the array is a part of the index.
        let unknown = u64::from(what.contains("-O0"));
        // `*number`, and the function in `ops`.
        assert_eq!((operands.plain, operands.unknown), (2, unknown), "{what}: {operands:?}");
        // Of an array the first element stands for all.
        let elements = swept.of_function("set_element", "session", 64)[1];
        assert_eq!(u64::from(elements), 1 - unknown, "{what}");
        assert_eq!(swept.sweep.skipped, 0, "{what}");
    });
}

#[test]
fn members_of_cpp_are_counted_through_this_references_and_bases() {
    let Some(sample) = Sample::new("sweep.cpp", &["-g", "-O2"]) else { return };
    let swept = Swept::of(&sample);
    for (function, subject, offset, expected) in [
        ("Session::get", "app::Session", 28, [0, 0, 1, 0, 0]),
        ("Session::claim", "app::Session", 28, [0, 0, 0, 1, 0]),
        ("Session::limit_of_next", "app::Session", 32, [1, 0, 0, 0, 0]),
        ("Session::limit_of_next", "app::Session", 24, [1, 0, 0, 0, 0]),
        ("Session::hit", "app::Session", 8, [0, 0, 1, 0, 0]),
        ("Session::set_plain", "app::Session", 16, [0, 1, 0, 0, 0]),
        ("app::read_reference", "app::Session", 24, [1, 0, 0, 0, 0]),
        ("app::write_unique", "app::Session", 24, [0, 1, 0, 0, 0]),
        ("app::count", "app::counter", 0, [0, 0, 1, 0, 0]),
    ] {
        let found = swept.of_function(function, subject, offset);
        assert_eq!(found, expected, "{function} {subject} {offset}");
    }
    let total = swept.sweep.total();
    assert_eq!((total.locked, total.locked_unknown), (4, 0));
}

#[test]
fn members_of_rust_are_counted_through_arc_and_box() {
    let Some(sample) = Sample::new("sweep.rs", &["-g", "-Copt-level=2"]) else { return };
    let swept = Swept::of(&sample);
    let shared = "alloc::sync::ArcInner<sweep::Session>";
    for (function, subject, offset, expected) in [
        ("Session::get", "sweep::Session", 0, [0, 0, 1, 0, 0]),
        ("Session::claim", "sweep::Session", 0, [0, 0, 0, 1, 0]),
        ("Session::set_limit", "sweep::Session", 4, [0, 1, 0, 0, 0]),
        ("Session::limit_of_next", "sweep::Session", 16, [1, 0, 0, 0, 0]),
        ("Session::limit_of_next", "sweep::Session", 4, [1, 0, 0, 0, 0]),
        ("hit", shared, 16 + 8, [0, 0, 1, 0, 0]),
        ("share", shared, 0, [0, 0, 1, 0, 0]),
        ("count", "sweep::COUNTER", 0, [0, 0, 1, 0, 0]),
    ] {
        let found = swept.of_function(function, subject, offset);
        assert_eq!(found, expected, "{function} {subject} {offset}");
    }
    // The standard library is there with line tables alone.
    assert!(swept.sweep.blind > 0);
    assert_eq!(swept.sweep.total().locked_unknown, 0);
}

#[test]
fn what_lies_in_a_loop_is_heavier() {
    each("sweep.c", true, |what, sample| {
        let swept = Swept::of(sample);
        let weight = |function: &str| {
            let of = |one: &&sweep::OperandUse| {
                &*swept.sweep.functions[one.function as usize] == function
            };
            swept.sweep.uses.iter().filter(of).map(|one| one.counts.weight).max()
        };
        assert_eq!((weight("loop"), weight("get")), (Some(4), Some(1)), "{what}");
    });
}

#[test]
fn stripped_programs_and_other_inputs_say_why_no_code_is_read() {
    let Some(sample) = Sample::new("sweep.c", &["-g", "-O2"]) else { return };
    let read = |path: &std::path::Path| {
        let input = Input::File(path.to_owned());
        sweep::read(&input, &Options::default(), &())
    };
    let Some(stripped) = sample.stripped() else { return };
    let error = read(&stripped).unwrap_err().to_string();
    assert!(error.contains("has no debugging information"), "{error}");
    let object = Sample::new("sweep.c", &["-g", "-c"]).unwrap();
    let why = read(&object.path).unwrap().1.unwrap_err();
    assert!(why.contains("object files"), "{why}");
    let btf =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../tenure-debuginfo/tests/fixtures/btf/before.btf");
    let why = read(btf.as_ref()).unwrap().1.unwrap_err();
    assert!(why.contains("BTF alone holds no code"), "{why}");
}

#[test]
fn the_code_of_a_stripped_program_is_read_with_a_separate_debug_file() {
    let Some(sample) = Sample::new("sweep.c", &["-g", "-O2"]) else { return };
    let Some(stripped) = sample.stripped() else { return };
    let options = Options { debug_file: Some(sample.path.clone()), ..Options::default() };
    let (_, sweep) = sweep::read(&Input::File(stripped), &options, &()).unwrap();
    assert_eq!(sweep.unwrap(), Swept::of(&sample).sweep);
}

#[test]
fn a_unit_that_cannot_be_read_is_skipped_and_counted() {
    let Some(sample) = Sample::new("sweep.c", &["-g", "-O2"]) else { return };
    let whole = Swept::of(&sample).sweep;
    let bytes = fs::read(&sample.path).unwrap();
    // A changed list of places loses variables, a changed entry its unit: neither loses the file.
    let path = sample.path.with_extension("hostile");
    let mut read = 0;
    for turn in 0..150 {
        let mut changed = bytes.clone();
        for hit in 0..32_usize {
            let at = (turn * 7919 + hit * 104_729) % bytes.len();
            changed[at] ^= 1 << ((turn + hit) % 8);
        }
        fs::write(&path, &changed).unwrap();
        let Ok((_, found)) = sweep::read(&Input::File(path.clone()), &Options::default(), &())
        else {
            continue;
        };
        let Ok(found) = found else { continue };
        read += 1;
        let operands = |sweep: &Sweep| sweep.total().all();
        assert!(operands(&found) <= 20 * operands(&whole), "{turn}");
    }
    assert!(read > 0, "some are read");
}

/// A unit's root and functions, each of all the code there is.
#[test]
fn functions_that_share_their_code_are_not_decoded_again_and_again() {
    let Some(sample) = Sample::new("sweep.c", &["-g", "-O2"]) else { return };
    let range =
        [(gimli::DW_AT_low_pc, gimli::DW_FORM_addr), (gimli::DW_AT_high_pc, gimli::DW_FORM_data4)];
    let object = fs::read(&sample.path).unwrap();
    let file = object::File::parse(&*object).unwrap();
    let text = file.section_by_name(".text").unwrap();
    let size = u32::try_from(text.size()).unwrap();
    let mut assembler = Assembler::default();
    let unit = assembler.abbreviation(gimli::DW_TAG_compile_unit, true, &range);
    let function = assembler.abbreviation(gimli::DW_TAG_subprogram, false, &range);
    let number = assembler.abbreviation(
        gimli::DW_TAG_base_type,
        false,
        &[(gimli::DW_AT_byte_size, gimli::DW_FORM_data1)],
    );
    let at = [text.address().to_le_bytes().to_vec(), size.to_le_bytes().to_vec()].concat();
    let one = [vec![function], at.clone()].concat();
    let entries = [vec![unit], at, vec![number, 4], one.repeat(200_000), vec![0]].concat();
    assembler.unit(&entries);
    let made = sample.path.with_extension("debug");
    fs::write(&made, assembler.finish()).unwrap();
    let Some(stripped) = sample.stripped() else { return };
    let options = Options { debug_file: Some(made), ..Options::default() };
    let (_, sweep) = sweep::read(&Input::File(stripped), &options, &()).unwrap();
    assert_eq!(sweep.unwrap().skipped, 1, "the unit is left at some point");
}

#[test]
fn what_an_instruction_accesses_is_said_of_those_that_were_asked_about() {
    each("sweep.c", true, |what, sample| {
        let start = Loaded::open(&sample.path).unwrap().symbol("get").unwrap();
        let asked: Vec<u64> = (start..start + 16).collect();
        let input = Input::File(sample.path.clone());
        let (model, sweep) = sweep::read_at(&input, &Options::default(), &asked, &()).unwrap();
        let at = sweep.unwrap().at;
        let [(address, part)] = at[..] else { panic!("{what}: {at:?}") };
        let Subject::Type(id) = part.subject else { panic!("{what}: {part:?}") };
        assert!(asked.contains(&address), "{what}");
        assert_eq!((&*model[id].name, part.offset), ("session", REFS), "{what}");
        assert!(Swept::of(sample).sweep.at.is_empty(), "{what}: nothing was asked");
    });
}
