//! Recordings of `perf`, joined with a program of C that is compiled here: on x86-64 alone.

mod writer;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use proptest::prelude::*;
use tempfile::TempDir;
use tenure_code::sweep::{self, Subject};
use tenure_debuginfo::model::Model;
use tenure_debuginfo::program::Loaded;
use tenure_debuginfo::read::{Input, Options};
use tenure_layout::run::{LayoutRequest, run};
use tenure_model::{Finding, Kind, Level, Measured, Recorded, Report, Role, Sharing, Source};

use self::writer::{HITM, LOAD, REMOTE, STORE, Writer};
use super::request;

/// A count beside a limit, two numbers that types do not know as contended, and a variable.
const PROGRAM: &str = r"
struct session { long id; long refs; long limit; };
struct plain { long padding[8]; long total; long gap[5]; long seen; };
struct callback_head { void *next, *func; };
struct mixed { long hits; struct callback_head note; };
struct pool { long top; long slots[64]; };
struct plain2 { long first; long second; };
struct wide { long first; char rest[8184]; };
long lonely __attribute__((aligned(64)));
long after[8] __attribute__((aligned(64)));
struct { long bound; long hist[64]; } one __attribute__((aligned(64)));
#define API __attribute__((noinline, noclone))
API void get(struct session *s) { __atomic_fetch_add(&s->refs, 1, __ATOMIC_RELAXED); }
API long limit(struct session *s) { return s->limit; }
API void tally(struct plain *p) { p->total = 1; }
API long seen(struct plain *p) { return p->seen; }
API void mark(void) { lonely = 1; }
API void hit(struct mixed *m) { __atomic_fetch_add(&m->hits, 1, __ATOMIC_RELAXED); }
API void note(struct mixed *m) { m->note.func = m; }
API long top(struct pool *p) { return p->top; }
API long slot(struct pool *p, long at) { return p->slots[at]; }
API void tick(void) { one.hist[40] = 1; }
API long bound(void) { return one.bound; }
API void touch(struct wide *w) { w->first = 1; }
void *malloc(unsigned long);
int main(int count, char **all) {
  if (count == 1) { struct wide *w = malloc(64 * sizeof *w); for (int i = 0; i < 64; i++) touch(w + i); }
  if (count > 98) { hit((void *)all); note((void *)all); tick(); return top((void *)all) + slot((void *)all, count) + bound(); }
  if (count > 99) { get((void *)all); tally((void *)all); mark(); return limit((void *)all) + seen((void *)all); }
  return after[count & 7];
}
";

const BIAS: u64 = 0x5555_5000_0000;
const PID: u32 = 812;
/// Of objects on the heap.
const HEAP: u64 = 0x7f00_0000_1000;

struct Program {
    folder: TempDir,
    path: PathBuf,
    loaded: Loaded,
}

impl Program {
    /// None without gcc.
    fn compiled() -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let (source, path) = (folder.path().join("server.c"), folder.path().join("server"));
        fs::write(&source, PROGRAM).unwrap();
        let words = ["-g", "-O2", "-pie", "-fPIE", "-Wl,--build-id", "-o"];
        let output = Command::new("gcc").args(words).arg(&path).arg(&source).output();
        let Ok(output) = output else {
            eprintln!("skipped: gcc is not installed");
            return None;
        };
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let loaded = Loaded::open(&path).unwrap();
        Some(Self { folder, path, loaded })
    }

    /// The instruction of a function that accesses memory, as the process has it.
    fn access(&self, function: &str) -> u64 {
        let start = self.loaded.symbol(function).unwrap();
        let near: Vec<u64> = (start..start + 32).collect();
        let input = Input::File(self.path.clone());
        let (model, sweep) = sweep::read_at(&input, &Options::default(), &near, &()).unwrap();
        let named = |subject: Subject, model: &Model| match subject {
            Subject::Type(id) => !model[id].name.is_empty(),
            Subject::Static(_) => true,
        };
        let at = sweep.unwrap().at;
        let (first, _) = at.iter().find(|(_, part)| named(part.subject, &model)).unwrap();
        BIAS + first
    }

    fn variable(&self, name: &str) -> u64 {
        BIAS + self.loaded.symbol(name).unwrap()
    }

    /// Where the code lies in the file.
    fn code(&self) -> u64 {
        let page = self.loaded.symbol("main").unwrap() & !0xfff;
        let holds = |offset: &u64| self.loaded.bias_of(page, *offset, 1 << 12, true) == Some(0);
        (0..1 << 20).step_by(1 << 12).find(holds).unwrap()
    }

    fn map(&self, writer: &mut Writer) {
        self.map_as(writer, "server", self.loaded.build_id.as_ref().unwrap());
    }

    fn map_as(&self, writer: &mut Writer, name: &str, id: &[u8]) {
        let start = BIAS + (self.loaded.symbol("main").unwrap() & !0xfff);
        writer.map(PID, start, 1 << 12, self.code(), &format!("/srv/{name}"), id);
    }

    /// Loads of `limit` that find the line modified, stores to `refs`, the same of `plain`, and one of a variable.
    fn recording(&self) -> Writer {
        let mut writer = Writer::new();
        self.map(&mut writer);
        for _ in 0..4 {
            writer.sample(PID, (self.access("limit"), HEAP + 16), LOAD | HITM, 90);
        }
        writer.sample(PID, (self.access("limit"), HEAP + 16), LOAD | HITM | REMOTE, 300);
        writer.sample(PID, (self.access("get"), HEAP + 8), STORE, 10);
        for _ in 0..7 {
            writer.sample(PID, (self.access("seen"), HEAP + 4096), LOAD | HITM, 20);
        }
        writer.sample(PID, (self.access("tally"), HEAP + 4096), STORE, 1);
        writer.sample(PID, (self.access("mark"), self.variable("lonely")), STORE | HITM, 1);
        writer.sample(PID, (0x7fff_0000_0000, HEAP), LOAD, 1);
        writer
    }

    fn asked(&self, perf: &[u8]) -> LayoutRequest {
        let path = self.folder.path().join("perf.data");
        fs::write(&path, perf).unwrap();
        let input = Input::File(self.path.clone());
        LayoutRequest { input, code: true, perf: Some(path), ..request("", &[]) }
    }

    fn report(&self, perf: &[u8]) -> Report {
        run(&self.asked(perf), &()).unwrap().1
    }

    /// What is wrong with a recording: one line.
    #[track_caller]
    fn refused(&self, perf: &[u8], said: &[&str]) {
        let error = run(&self.asked(perf), &()).unwrap_err().to_string();
        assert_eq!(error.lines().count(), 1, "{error}");
        assert!(error.starts_with("--perf: ") && error.contains("perf.data"), "{error}");
        for word in said {
            assert!(error.contains(word), "`{word}` in: {error}");
        }
    }
}

fn recorded(report: &Report) -> &Recorded {
    match &report.source {
        Source::Types(types) => types.recorded.as_deref().unwrap(),
        Source::Run(_) => panic!("types"),
    }
}

fn of<'r>(report: &'r Report, name: &str) -> &'r Finding {
    report.findings.iter().find(|finding| finding.type_name == name).unwrap()
}

#[test]
fn findings_say_what_was_measured_of_their_words() {
    let Some(program) = Program::compiled() else { return };
    let report = program.report(&program.recording().file());
    let session = of(&report, "session");
    let limit = Measured { samples: 5, loads: 5, stores: 0, hitm: 5, remote_hitm: 1, weight: 660 };
    let refs = Measured { samples: 1, loads: 0, stores: 1, hitm: 0, remote_hitm: 0, weight: 10 };
    let mut both = limit;
    both.add(&refs);
    assert_eq!(session.measured, Some(both));
    assert_eq!((&*session.contended.path, session.contended.measured), ("refs", Some(refs)));
    let victim = session.victims.iter().find(|victim| victim.path == "limit").unwrap();
    assert_eq!(victim.measured, Some(limit));
    let recorded = recorded(&report);
    assert_eq!((recorded.samples, recorded.program.samples), (16, 15));
    assert_eq!(recorded.attributed, recorded.program);
    assert_eq!(recorded.members[0].path, "seen");
}

#[test]
fn what_was_measured_comes_first_and_a_line_that_only_measuring_shows_is_a_finding() {
    let Some(program) = Program::compiled() else { return };
    let report = program.report(&program.recording().file());
    let names: Vec<(u64, &str)> =
        report.findings.iter().map(|finding| (finding.rank, &*finding.type_name)).collect();
    assert_eq!(names[..2], [(1, "plain"), (2, "session")], "{names:?}");
    let plain = &report.findings[0];
    // The word that is stored to moves the line; the other waits for it.
    assert_eq!((&*plain.contended.path, plain.contended.role), ("total", Role::Written));
    assert_eq!((plain.victims.len(), &*plain.victims[0].path), (1, "seen"));
    assert_eq!(plain.kind, Kind::FalseSharing);
    // Where an object lies is not known.
    assert_eq!((plain.confidence.level, plain.confidence.placements), (Level::Low, 0.25));
    assert_eq!(plain.measured.map(|measured| measured.hitm), Some(7));
    let map = report.maps.iter().find(|map| map.name == "plain").unwrap();
    let cells: Vec<_> = map.lines.iter().flat_map(|line| &line.cells).collect();
    assert!(cells.iter().all(|cell| cell.role.is_contended() == (cell.path == "total")));
}

#[test]
fn a_variable_is_known_by_the_address_of_the_data() {
    let Some(program) = Program::compiled() else { return };
    let report = program.report(&program.recording().file());
    let lonely = report.findings.iter().find(|one| one.contended.path == "lonely").unwrap();
    assert_eq!((lonely.kind, lonely.contended.offset), (Kind::HotWord, 0));
    assert_eq!(lonely.measured.map(|measured| measured.hitm), Some(1));
}

#[test]
fn a_line_of_variables_is_the_one_that_was_sampled() {
    let Some(program) = Program::compiled() else { return };
    let mut writer = Writer::new();
    program.map(&mut writer);
    let one = program.variable("one");
    let at = one + 8 + 8 * 40;
    for _ in 0..3 {
        writer.sample(PID, (program.access("tick"), at), STORE | HITM, 1);
    }
    // An instruction of which the code says nothing of this variable.
    writer.sample(PID, (program.access("limit"), at + 8), LOAD | HITM, 1);
    writer.sample(PID, (program.access("bound"), one), LOAD, 1);
    let report = program.report(&writer.file());
    let hist = report.findings.iter().find(|found| found.contended.path == "one.hist").unwrap();
    assert_eq!((hist.kind, hist.victims.len(), hist.contended.offset), (Kind::HotWord, 0, 8));
    assert_eq!(hist.measured.map(|measured| (measured.samples, measured.hitm)), Some((4, 4)));
    let address = at - BIAS;
    assert!(matches!(hist.sharing, Sharing::Statics { address: it, .. } if it == address));
    let members: Vec<(&str, u64)> =
        recorded(&report).members.iter().map(|one| (&*one.path, one.measured.samples)).collect();
    assert_eq!(members, [("one.hist", 4), ("one.bound", 1)]);
    writer.sample(PID, (program.access("tick"), one + 8), STORE, 1);
    writer.sample(PID, (program.access("bound"), one), LOAD | HITM, 1);
    let report = program.report(&writer.file());
    let both = report.findings.iter().find(|found| found.kind == Kind::FalseSharing);
    let bound = both.filter(|both| both.contended.path == "one.hist").unwrap();
    assert_eq!((&*bound.victims[0].path, bound.contended.offset), ("one.bound", 8));
    assert_eq!(bound.measured.map(|measured| (measured.samples, measured.hitm)), Some((3, 1)));
}

#[test]
fn which_element_of_an_array_of_a_type_was_accessed_is_not_known() {
    let Some(program) = Program::compiled() else { return };
    let mut writer = Writer::new();
    program.map(&mut writer);
    writer.sample(PID, (program.access("slot"), HEAP + 8 + 8 * 40), LOAD | HITM, 1);
    writer.sample(PID, (program.access("top"), HEAP), LOAD, 1);
    let pool = program.report(&writer.file());
    let pool = of(&pool, "pool");
    assert_eq!((pool.kind, &*pool.contended.path), (Kind::HotWord, "slots"));
    assert_eq!(pool.confidence.level, Level::Medium);
}

#[test]
fn a_finding_hides_no_line_of_which_it_has_the_words_that_are_not_contended() {
    let Some(program) = Program::compiled() else { return };
    let mut writer = Writer::new();
    program.map(&mut writer);
    writer.sample(PID, (program.access("hit"), HEAP), STORE, 1);
    for _ in 0..5 {
        writer.sample(PID, (program.access("note"), HEAP + 16), STORE | HITM, 1);
    }
    let report = program.report(&writer.file());
    let note = report.findings.iter().find(|found| found.contended.path == "note").unwrap();
    assert_eq!((&*note.type_name, note.measured.map(|it| it.hitm)), ("mixed", Some(5)));
}

#[test]
fn the_text_says_which_processes_have_the_program() {
    let Some(program) = Program::compiled() else { return };
    let start = BIAS + (program.loaded.symbol("main").unwrap() & !0xfff);
    let child = PID + 1;
    let sample = format!(
        "{child}/{child} {HEAP:x} {:x} |OP LOAD|LVL L3 hit|SNP HitM|TLB N/A|LCK No|BLK  N/A 9 {:x} limit+0x0 (/srv/server)\n",
        LOAD | HITM,
        program.access("limit")
    );
    let text = [
        format!(
            "{PID}/{PID} PERF_RECORD_MMAP2 {PID}/{PID}: [{start:#x}(0x1000) @ {:#x} fe:00 9 1]: r-xp /srv/server\n",
            program.code()
        ),
        format!("{PID}/{PID} PERF_RECORD_FORK({child}:{child}):({PID}:{PID})\n"),
        sample.repeat(2),
        format!("{child}/{child} PERF_RECORD_COMM exec: other:{child}/{child}\n"),
        sample.replace("/srv/server", "/srv/other"),
    ];
    let mut bytes = text.concat().into_bytes();
    // A name may have bytes that are no text.
    bytes.extend(b"\xff\xfe 7/7 PERF_RECORD_COMM exec: \xff:7/7\n");
    let report = program.report(&bytes);
    assert_eq!(of(&report, "session").measured.map(|measured| measured.hitm), Some(2));
    assert_eq!(recorded(&report).samples, 3);
}

#[test]
fn a_pipe_and_the_text_that_perf_prints_say_the_same_as_the_file() {
    let Some(program) = Program::compiled() else { return };
    let writer = program.recording();
    let file = program.report(&writer.file());
    let pipe = program.report(&writer.pipe());
    assert_eq!(file.findings, pipe.findings);
    let start = BIAS + (program.loaded.symbol("main").unwrap() & !0xfff);
    let mapping = format!(
        "server {PID} 1.5: PERF_RECORD_MMAP2 {PID}/{PID}: [{start:#x}(0x1000) @ {:#x} fe:00 9 1]: r-xp /srv/server\n",
        program.code()
    );
    let line = |function: &str, address: u64, source: u64, words: &str, weight: u64| {
        let ip = program.access(function);
        format!(
            "  server {PID}/{PID} 2.5: mem: {address:x} {source:x} {words} {weight} {ip:x} {function}+0x4 (/srv/server)\n"
        )
    };
    let load = "|OP LOAD|LVL Local L3 or L3 hit|SNP HitM|TLB N/A|LCK No|BLK  N/A";
    let store = "|OP STORE|LVL L1 hit|SNP N/A|TLB N/A|LCK No|BLK  N/A";
    let lonely = program.variable("lonely");
    let text = [
        mapping,
        line("limit", HEAP + 16, LOAD | HITM, load, 90).repeat(4),
        line("limit", HEAP + 16, LOAD | HITM | REMOTE, load, 300),
        line("get", HEAP + 8, STORE, store, 10),
        line("seen", HEAP + 4096, LOAD | HITM, load, 20).repeat(7),
        line("tally", HEAP + 4096, STORE, store, 1),
        line("mark", lonely, STORE | HITM, store, 1),
    ];
    assert_eq!(program.report(text.concat().as_bytes()).findings, file.findings);
}

#[test]
fn what_perf_itself_records_is_read() {
    let Some(program) = Program::compiled() else { return };
    let path = program.folder.path().join("recorded");
    // Page faults have addresses on every machine, and no source.
    let words = ["record", "-q", "-d", "-e", "page-faults", "-c", "1", "-o"];
    let output = Command::new("perf").args(words).arg(&path).arg(&program.path).output();
    if !output.as_ref().is_ok_and(|output| output.status.success()) {
        return eprintln!("skipped: perf is missing, or may not record: {output:?}");
    }
    let report = program.report(&fs::read(&path).unwrap());
    let recorded = recorded(&report);
    let wide = recorded.members.iter().find(|one| one.type_name == "wide").unwrap();
    assert_eq!(wide.path, "first");
    assert!(wide.measured.samples > 0, "{wide:?}");
    assert_eq!(recorded.program.hitm, 0);
}

#[test]
fn without_mappings_a_symbol_says_where_an_instruction_is() {
    let Some(program) = Program::compiled() else { return };
    let offset = program.access("limit") - BIAS - program.loaded.symbol("limit").unwrap();
    let text = format!(
        "7f00 800042 |OP LOAD|LVL L3 hit|SNP HitM|TLB N/A|LCK No 9 7fffdeadbeef limit+{offset:#x} ({}/server)\n",
        Path::new("/srv").display()
    );
    let text = text.replacen("7f00", &format!("{HEAP:x}"), 1);
    let report = program.report(text.as_bytes());
    assert_eq!(of(&report, "session").measured.map(|measured| measured.hitm), Some(1));
}

#[test]
fn what_cannot_be_used_is_refused_in_a_line_that_says_why() {
    let Some(program) = Program::compiled() else { return };
    let whole = program.recording().file();
    program.refused(b"\x7fELF\xff\xfe", &["neither a perf.data file", "perf script"]);
    program.refused(b"hello\n", &["neither a perf.data file"]);
    program.refused(&whole[..whole.len() - 20], &["is truncated"]);
    program.refused(&whole[..60], &["is truncated"]);
    let mut bare = Writer::without_addresses();
    program.map(&mut bare);
    bare.sample(PID, (program.access("get"), 0), STORE, 1);
    program.refused(&bare.file(), &["no addresses of data", "perf c2c record"]);
    let mut other = Writer::new();
    program.map_as(&mut other, "server", &[7; 20]);
    other.sample(PID, (program.access("get"), HEAP), STORE, 1);
    program.refused(&other.file(), &["none in", "another build of it"]);
    let mut elsewhere = Writer::new();
    program.map_as(&mut elsewhere, "redis-server", &[7; 20]);
    elsewhere.sample(PID, (program.access("get"), HEAP), STORE, 1);
    program.refused(&elsewhere.file(), &["1 samples and none in", "/srv/redis-server (1)"]);
    let mut none = Writer::new();
    program.map(&mut none);
    program.refused(&none.file(), &["holds no samples"]);
    let mut big = whole.clone();
    big[..8].copy_from_slice(b"2ELIFREP");
    program.refused(&big, &["big-endian"]);
    let mut compressed = whole.clone();
    let first = whole.len() - (whole.len() - 104 - 144);
    compressed[first..first + 4].copy_from_slice(&81_u32.to_le_bytes());
    program.refused(&compressed, &["compressed", "without -z"]);
    let mut killed = whole;
    killed[48..56].fill(0);
    program.refused(&killed, &["has not ended"]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, ..ProptestConfig::default() })]

    #[test]
    fn a_damaged_recording_is_read_or_refused(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let Some(program) = Program::compiled() else { return Ok(()) };
        for whole in [program.recording().file(), program.recording().pipe()] {
            let mut damaged = whole;
            for (at, value) in &changes {
                let at = at.index(damaged.len());
                damaged[at] = *value;
            }
            if let Err(error) = run(&program.asked(&damaged), &()) {
                prop_assert_eq!(error.to_string().lines().count(), 1);
            }
        }
    }
}
