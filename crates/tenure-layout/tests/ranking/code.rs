//! What the code of a program of C shows that its types do not: compiled here, on x86-64 alone.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::LazyLock;

use super::{find, report, request};
use tempfile::TempDir;
use tenure_debuginfo::read::Input;
use tenure_layout::run::LayoutRequest;
use tenure_model::{Finding, Report, Role, Sharing, Source};

/// Counters that are plain numbers, a table of functions, a number under a lock, and a count that only opens touch.
const PROGRAM: &str = r"
struct ops { int (*read)(void); };
struct session { int refs; int limit; const struct ops *ops; volatile long hits; };
struct queue { int lock_word; int closed; void *first; long length; };
struct device { int users; int flags; void *name; };
#define API __attribute__((noinline, noclone))
API void lock(int *word) { while (__atomic_exchange_n(word, 1, __ATOMIC_ACQUIRE)); }
API void get(struct session *s) { __atomic_fetch_add(&s->refs, 1, __ATOMIC_RELAXED); }
API void put(struct session *s) { __atomic_fetch_sub(&s->refs, 1, __ATOMIC_RELEASE); }
API int limit(struct session *s) { return s->limit; }
API int read0(struct session *s) { return s->ops->read(); }
API int read1(struct session *s) { return s->ops->read() + 1; }
API int read2(struct session *s) { return s->ops->read() + 2; }
API int read3(struct session *s) { return s->ops->read() + 3; }
API int read4(struct session *s) { return s->ops->read() + 4; }
API int read5(struct session *s) { return s->ops->read() + 5; }
API void session_init(struct session *s, const struct ops *ops) { s->ops = ops; s->limit = 9; }
API void hit(struct session *s) { s->hits++; }
API void push(struct queue *q, void *p) { lock(&q->lock_word); q->first = p; q->length++; }
API void *pop(struct queue *q) { lock(&q->lock_word); q->length--; return q->first; }
API int is_closed(struct queue *q) { return q->closed; }
API int is_open(struct queue *q) { return !q->closed; }
API void device_open(struct device *d) { __atomic_fetch_add(&d->users, 1, __ATOMIC_RELAXED); }
API void device_close(struct device *d) { __atomic_fetch_sub(&d->users, 1, __ATOMIC_RELAXED); }
API void *name_of(struct device *d) { return d->name; }
struct chunk { void *base; long free_bytes; };
struct lone { void *base; long count; };
struct worker { long done; void *queue; };
struct pool { struct worker *workers; };
long pending[16], swept[16];
int pthread_mutex_lock(void *mutex);
char mutex[40];
API void take(struct chunk *c, long n) { pthread_mutex_lock(mutex); c->free_bytes -= n; }
API void give(struct chunk *c, long n) { pthread_mutex_lock(mutex); c->free_bytes += n; }
API void *base(struct chunk *c) { return c->base; }
API void more(struct lone *l) { l->count++; }
API void less(struct lone *l) { l->count--; }
API void *base_of(struct lone *l) { return l->base; }
API void finish(long id) { pending[id]++; }
API void reset(void) { for (long id = 0; id < 16; id++) swept[id] += id; }
API void work(struct pool *p, long id) { p->workers[id].done++; }
struct tally { long misses, hits; };
struct cell { long id; struct tally tally; };
struct cells { struct cell *all; };
API void hit_cell(struct cells *c, long id) { __atomic_fetch_add(&c->all[id].tally.hits, 1, __ATOMIC_RELAXED); }
struct clock { _Atomic int now; _Atomic int ticks; void *name; void *next; };
API int now0(struct clock *c) { return c->now; }
API int now1(struct clock *c) { return c->now + 1; }
API int now2(struct clock *c) { return c->now + 2; }
API int now3(struct clock *c) { return c->now + 3; }
API int now4(struct clock *c) { return c->now + 4; }
API int now5(struct clock *c) { return c->now + 5; }
API void set_clock(struct clock *c, int now) { __atomic_store_n(&c->now, now, __ATOMIC_RELAXED); }
API int ticks0(struct clock *c) { return c->ticks; }
API int ticks1(struct clock *c) { return c->ticks + 1; }
API int ticks2(struct clock *c) { return c->ticks + 2; }
API int ticks3(struct clock *c) { return c->ticks + 3; }
API int ticks4(struct clock *c) { return c->ticks + 4; }
API int ticks5(struct clock *c) { return c->ticks + 5; }
API void tick(struct clock *c) { c->ticks++; }
struct table { long (*compare)(long); long users; };
API long look_up(struct table *t, long key) { pthread_mutex_lock(mutex); t->users++; return t->compare(key); }
API long new_cursor(struct table *t, long key) { pthread_mutex_lock(mutex); t->users++; return t->compare(key + 1); }
struct text { char *bytes; long length, room; char few[16]; };
struct user { void *ops; struct text name; void *next; };
struct record { void *ops; struct text line; void *next; };
struct note { void *ops; struct text text; };
API void *ops_of(struct note *n) { return n->ops; }
struct draft { void *ops; struct text text; void *next; };
API void *next_draft(struct draft *d) { pthread_mutex_lock(mutex); d->text.length--; return d->next; }
API void grow(struct text *t) { pthread_mutex_lock(mutex); t->length++; }
API void shrink(struct text *t) { pthread_mutex_lock(mutex); t->length--; }
API void *next_user(struct user *u) { return u->ops ? u->next : 0; }
API void push_letter(struct record *r) { pthread_mutex_lock(mutex); r->line.length++; }
API void pop_letter(struct record *r) { pthread_mutex_lock(mutex); r->line.length--; }
API void *next_record(struct record *r) { return r->ops ? r->next : 0; }
int main(int count, char **all) { return count > 99 ? read0((struct session *)all) : 0; }
";

pub(super) struct Compiled {
    _folder: TempDir,
    path: PathBuf,
}

/// None without gcc.
static COMPILED: LazyLock<Option<Compiled>> = LazyLock::new(|| compile(PROGRAM));

static REPORT: LazyLock<Option<Report>> =
    LazyLock::new(|| Some(report(&asked(COMPILED.as_ref()?, true))));

/// What is found with a rules file.
fn with_rules(rules: &str) -> Option<Report> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rules.toml");
    fs::write(&path, rules).unwrap();
    Some(report(&LayoutRequest { rules: vec![path], ..asked(COMPILED.as_ref()?, true) }))
}

/// None without gcc.
pub(super) fn compile(program: &str) -> Option<Compiled> {
    let folder = tempfile::tempdir().unwrap();
    let (source, path) = (folder.path().join("program.c"), folder.path().join("program"));
    fs::write(&source, program).unwrap();
    let output =
        Command::new("gcc").args(["-g", "-O2", "-o"]).arg(&path).arg(&source).output().ok()?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(Compiled { _folder: folder, path })
}

pub(super) fn asked(program: &Compiled, code: bool) -> LayoutRequest {
    LayoutRequest { input: Input::File(program.path.clone()), code, ..request("", &[]) }
}

fn of_type<'r>(report: &'r Report, name: &str) -> &'r Finding {
    find(report, name, |finding| finding.type_name == name)
}

#[test]
fn a_plain_number_that_is_added_to_atomically_is_contended_and_the_code_says_why() {
    let Some(report) = &*REPORT else { return };
    let session = of_type(report, "session");
    assert_eq!((&*session.contended.path, session.contended.role), ("refs", Role::Count));
    let signal = session.signals.iter().find(|signal| signal.name == "code").unwrap();
    assert_eq!(signal.seen, "added to by 2 locked instructions in 2 functions: get, put");
    let ops = session.victims.iter().find(|victim| victim.path == "ops").unwrap();
    assert_eq!(ops.role, Role::ReadMostly, "{ops:?}");
    assert!(ops.why.ends_with("read in 6 functions, written in 1: session_init"), "{}", ops.why);
    let Source::Types(types) = &report.source else { panic!("types") };
    let code = types.code.as_ref().unwrap();
    assert_eq!((code.unread.as_ref(), code.locked_unknown, code.skipped), (None, 0, 0));
    assert_eq!(code.operands[0].language, "C");
}

/// As a store that is sequentially consistent, `xchg` stores: it is no addition.
#[test]
fn an_atomic_word_that_many_functions_read_and_one_sets_is_read_mostly_and_a_counter_is_not() {
    let relaxed = "__atomic_store_n(&c->now, now, __ATOMIC_RELAXED)";
    for (from, to) in [(relaxed, relaxed), (relaxed, "c->now = now"), ("_Atomic int", "atomic_int")]
    {
        let source = format!("#include <stdatomic.h>\n{}", PROGRAM.replace(from, to));
        let Some(program) = compile(&source) else { return };
        let report = report(&asked(&program, true));
        let clock = of_type(&report, "clock");
        assert_eq!((&*clock.contended.path, clock.contended.role), ("ticks", Role::Atomic), "{to}");
        let now = clock.victims.iter().find(|victim| victim.path == "now").unwrap();
        assert_eq!(now.role, Role::ReadMostly, "{to}: {now:?}");
    }
}

#[test]
fn without_the_code_nothing_is_known_of_them() {
    let Some(program) = &*COMPILED else { return };
    let report = report(&asked(program, false));
    // But of those that the source calls atomic.
    let types: Vec<&str> = report.findings.iter().map(|finding| &*finding.type_name).collect();
    assert_eq!(types, ["clock"]);
    let Source::Types(types) = &report.source else { panic!("types") };
    assert_eq!(types.code, None);
}

#[test]
fn what_is_read_without_the_lock_weighs_more_than_what_is_read_with_it() {
    let Some(report) = with_rules("[members]\n\"queue.lock_word\" = \"lock\"\n") else { return };
    let queue = of_type(&report, "queue");
    let weight = |path: &str| {
        let found = queue.victims.iter().find(|victim| victim.path == path).unwrap();
        found.weight.unwrap()
    };
    assert!(weight("closed") > 2.0 * weight("length"), "{:?}", queue.victims);
    assert!(weight("closed") > 2.0 * weight("first"), "{:?}", queue.victims);
}

#[test]
fn a_count_that_only_opens_and_closes_touch_is_not_contended() {
    let Some(report) = &*REPORT else { return };
    assert!(report.findings.iter().all(|finding| finding.type_name != "device"));
}

#[test]
fn a_rule_comes_before_what_the_code_shows() {
    let Some(report) = with_rules("[members]\n\"session.refs\" = \"cold\"\n") else { return };
    assert!(report.findings.iter().all(|finding| finding.contended.path != "refs"));
}

#[test]
fn a_plain_counter_that_several_functions_update_under_a_lock_is_contended() {
    let Some(report) = &*REPORT else { return };
    let chunk = of_type(report, "chunk");
    assert_eq!((&*chunk.contended.path, chunk.contended.role), ("free_bytes", Role::Written));
    assert_eq!(chunk.victims[0].path, "base");
    let seen = |name: &str| &chunk.signals.iter().find(|signal| signal.name == name).unwrap().seen;
    assert_eq!(seen("word"), "a plain word that many functions write");
    assert_eq!(seen("code"), "written in 2: give, take");
    assert!(report.findings.iter().all(|finding| finding.type_name != "lone"), "no lock is taken");
}

/// The functions of a table's cursors begin no table.
#[test]
fn a_function_that_begins_another_object_counts_where_it_updates() {
    let Some(report) = &*REPORT else { return };
    let table = of_type(report, "table");
    assert_eq!((&*table.contended.path, table.contended.role), ("users", Role::Written));
    assert_eq!(table.victims[0].path, "compare");
}

/// As of strings, whose functions write the length of any.
#[test]
fn what_an_embedded_types_functions_write_is_not_charged_to_each_type_that_embeds_one() {
    let Some(report) = &*REPORT else { return };
    assert_eq!(of_type(report, "text").contended.path, "length");
    let record = of_type(report, "record");
    assert_eq!((&*record.contended.path, record.contended.role), ("line.length", Role::Written));
    let draft = of_type(report, "draft");
    assert_eq!(draft.contended.path, "text.length", "one of many is seen to have a draft's");
    let user = report.findings.iter().find(|finding| finding.type_name == "user");
    assert_eq!(user, None, "no function that writes a length is seen to have a user's");
}

#[test]
fn elements_that_a_variable_chooses_share_lines_and_those_that_a_loop_steps_through_do_not() {
    let Some(report) = &*REPORT else { return };
    let elements = |array: &str| {
        let is_of = |finding: &&Finding| match &finding.sharing {
            Sharing::Elements { array: of, .. } => of == array,
            _ => false,
        };
        report.findings.iter().find(is_of)
    };
    let pending = elements("pending").unwrap();
    assert_eq!((&*pending.contended.path, pending.contended.role), ("[0]", Role::Written));
    assert_eq!(pending.victims[0].path, "[1]");
    let code = pending.signals.iter().find(|signal| signal.name == "code").unwrap();
    assert_eq!(code.seen, "a variable chooses the element that is written in 1 function: finish");
    assert_eq!(elements("worker[]").unwrap().contended.path, "[0].done");
    assert_eq!(elements("swept"), None);
    let cells = elements("cell[]").unwrap();
    assert_eq!((&*cells.contended.path, cells.contended.role), ("[0].tally.hits", Role::Atomic));
}

#[test]
fn a_type_whose_elements_are_to_be_aligned_is_not_said_to_have_nothing_to_mend() {
    let Some(program) = &*COMPILED else { return };
    let report = report(&LayoutRequest { suggest: true, ..asked(program, true) });
    let worker = of_type(&report, "worker");
    assert!(worker.repairs[0].text.starts_with("Align `worker`"), "{:?}", worker.repairs);
    assert!(report.unfixed.iter().all(|one| one.type_name != "worker"), "{:?}", report.unfixed);
}
