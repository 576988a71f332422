//! Layouts follow what the functions of a program of C use together.

use super::code::{asked, compile};
use super::report;
use tenure_layout::run::LayoutRequest;
use tenure_model::{Means, Suggestion};

/// A count with a limit beside it, and room for the limit on the next line.
const COUNTED: &str = r"
struct callback_head { void *next; void (*func)(void); };
struct counted { int refs; int limit; void *name; struct callback_head rcu[3]; int cold; int colder; struct callback_head more; };
#define API __attribute__((noinline, noclone))
API void get(struct counted *s) { __atomic_fetch_add(&s->refs, 1, __ATOMIC_RELAXED); }
API void put(struct counted *s) { __atomic_fetch_sub(&s->refs, 1, __ATOMIC_RELEASE); }
READERS
int main(int count, char **all) { return count > 99 ? read0((struct counted *)all) : 0; }
";

/// A list whose lookups compare a key, with a count beside both.
const LOOKED_UP: &str = r"
struct callback_head { void *next; void (*func)(void); };
struct entry { int refs; int key; struct entry *next; void *name; struct callback_head rcu[2]; long spare; int cold; int colder; struct callback_head more; };
#define API __attribute__((noinline, noclone))
API void get(struct entry *s) { __atomic_fetch_add(&s->refs, 1, __ATOMIC_RELAXED); }
API void put(struct entry *s) { __atomic_fetch_sub(&s->refs, 1, __ATOMIC_RELEASE); }
API struct entry *find(struct entry *s, int key) { while (s && s->key != key) s = s->next; return s; }
API int has(struct entry *s, int key) { for (; s; s = s->next) if (s->key == key) return 1; return 0; }
API int key0(struct entry *s) { return s->key + 0; }
API int key1(struct entry *s) { return s->key + 1; }
API int key2(struct entry *s) { return s->key + 2; }
API int key3(struct entry *s) { return s->key + 3; }
API int key4(struct entry *s) { return s->key + 4; }
API int key5(struct entry *s) { return s->key + 5; }
API void *name(struct entry *s) { return s->name; }
int main(int count, char **all) { return count > 99 ? has((struct entry *)all, 7) : 0; }
";

fn readers(body: &str) -> String {
    let reader = |nth: usize| {
        format!("API int read{nth}(struct counted *s) {{ {body} return s->limit + {nth}; }}\n")
    };
    let readers: String = (0..8).map(reader).collect();
    COUNTED.replace("READERS", &readers)
}

/// The count stays where it is: what is beside it has to go.
fn suggestion(program: &str, name: &str) -> Option<Suggestion> {
    let program = compile(program)?;
    let (types, pins) = (vec![name.to_owned()], vec!["refs".to_owned()]);
    let report = report(&LayoutRequest { suggest: true, types, pins, ..asked(&program, true) });
    report.suggestions.into_iter().find(|one| one.type_name == name)
}

fn offset(suggestion: &Suggestion, path: &str) -> u64 {
    let cells = suggestion.after.lines.iter().flat_map(|line| &line.cells);
    cells.into_iter().find(|cell| cell.path == path).unwrap().offset
}

#[test]
fn what_functions_read_alone_leaves_the_line_of_the_count() {
    let Some(found) = suggestion(&readers(""), "counted") else { return };
    assert_eq!(found.means, Means::Order, "{:?}", (&found.summary, &found.order, &found.notes));
    assert_ne!(offset(&found, "limit") / 64, offset(&found, "refs") / 64);
}

#[test]
fn what_functions_use_with_the_count_is_not_moved_away_and_alignment_has_its_price() {
    let body = "__atomic_fetch_add(&s->refs, 1, __ATOMIC_RELAXED);";
    let Some(found) = suggestion(&readers(body), "counted") else { return };
    assert_eq!(found.means, Means::Align, "{:?}", (&found.summary, &found.order, &found.notes));
    let why = "No order helps: it would tear apart what functions of counted use together.";
    assert_eq!(found.notes[0], why);
    assert_eq!(found.price, i64::try_from(found.after.size - found.before.size).unwrap());
}

#[test]
fn a_key_that_lookups_compare_stays_on_the_line_of_the_link_that_they_walk() {
    let Some(found) = suggestion(LOOKED_UP, "entry") else { return };
    assert_eq!(offset(&found, "key") / 64, offset(&found, "next") / 64);
    // The same members, and no lookup: the key may go.
    let alone = LOOKED_UP.replace("s = s->next", "s = 0");
    let Some(found) = suggestion(&alone, "entry") else { return };
    assert_eq!(found.means, Means::Order, "{:?}", (&found.summary, &found.order, &found.notes));
    assert_ne!(
        offset(&found, "key") / 64,
        offset(&found, "refs") / 64,
        "{:?}",
        (&found.summary, &found.order, &found.notes)
    );
}
