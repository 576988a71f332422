use super::with_layouts;
use crate::fixtures::Maker;
use crate::suggest::{Pins, each, suggest};
use tenure_debuginfo::model::{Model, TypeId};
use tenure_model::{Means, Role, Suggestion, TypeMap};

fn proposal(model: &Model, id: TypeId) -> Suggestion {
    with_layouts(model, |layouts| suggest(layouts, id, &Pins::default())).unwrap()
}

/// The best by each means.
fn all(model: &Model, id: TypeId, pins: &Pins) -> Vec<Suggestion> {
    with_layouts(model, |layouts| each(layouts, id, pins)).unwrap()
}

/// The lines on which a member lies.
fn lines(map: &TypeMap, path: &str) -> Vec<u64> {
    let on = |line: &&tenure_model::Line| line.cells.iter().any(|cell| cell.path == path);
    map.lines.iter().filter(on).map(|line| line.index).collect()
}

#[test]
fn a_struct_that_may_be_aligned_to_a_line_moves_to_lines_only() {
    let mut maker = Maker::new();
    let (count, pointer) = (maker.count, maker.pointer);
    let words: Vec<_> = (0..8).map(|at| ("w", 8 * at, pointer)).collect();
    let queue = maker.add("queue", 64, &words);
    let cold = maker.add("callback_head", 8, &[("next", 0, pointer)]);
    // Moving `ops` after the queue is one move, but pulls the queue off its line.
    let mut all = vec![("refs", 0, count), ("ops", 8, pointer)];
    all.extend((2..8).map(|at| ("a", 8 * at, cold)));
    all.extend([("queue", 64, queue), ("b", 128, cold), ("c", 136, cold)]);
    let id = maker.add("object", 144, &all);
    let model = maker.finish();
    let found = proposal(&model, id);
    let of_queue = found.after.lines.iter().flat_map(|line| &line.cells);
    let queue =
        of_queue.filter(|cell| cell.path.starts_with("queue")).map(|cell| cell.offset).min();
    assert!(queue.unwrap().is_multiple_of(64), "{found:#?}");
}

#[test]
fn a_proposal_leaves_alone_what_has_nothing_to_do_with_its_type() {
    let mut maker = Maker::new();
    let (count, pointer, int) = (maker.count, maker.pointer, maker.int);
    let cold = maker.add("callback_head", 16, &[("next", 0, pointer), ("func", 8, pointer)]);
    let inner = [("a", 0, cold), ("b", 16, cold), ("c", 32, cold), ("d", 48, cold)];
    let victims = [("refs", 64, count), ("flags", 68, int), ("ops", 72, pointer)];
    let inner = maker.add("inner", 80, &[&inner[..], &victims].concat());
    let own = [("in", 0, inner), ("x", 80, cold), ("y", 96, cold), ("z", 112, cold)];
    let victims = [("users", 128, count), ("ops", 136, pointer), ("name", 144, pointer)];
    let rest = [("v", 152, cold), ("w", 168, cold)];
    maker.add("outer", 184, &[&own[..], &victims, &rest].concat());
    let model = maker.finish();
    let found = proposal(&model, inner);
    assert!(!found.moves.is_empty());
    assert_eq!(found.embedders[0].type_name, "outer");
    assert!(found.embedders[0].moves.is_empty(), "{:#?}", found.embedders[0].moves);
}

#[test]
fn a_link_that_lookups_walk_stays_on_its_line() {
    let moved = |name: &str| {
        let mut maker = Maker::new();
        let (count, pointer) = (maker.count, maker.pointer);
        let link = maker.add(name, 16, &[("a", 0, pointer), ("b", 8, pointer)]);
        let cold = maker.add("callback_head", 16, &[("next", 0, pointer), ("func", 8, pointer)]);
        let members = [
            ("refs", 0, count),
            ("id", 4, maker.int),
            ("link", 8, link),
            ("next", 24, pointer),
            ("ops", 32, pointer),
            ("name", 40, pointer),
            ("rcu", 48, cold),
            ("work", 64, cold),
            ("free", 80, cold),
            ("late", 96, cold),
        ];
        let id = maker.add("entry", 112, &members);
        lines(&proposal(&maker.finish(), id).after, "link") == [1]
    };
    assert!(moved("values"));
    assert!(!moved("hlist_node"));
}

/// A count in front of pointers: an object of less than a line.
fn small() -> (Model, TypeId) {
    let mut maker = Maker::new();
    let (count, pointer) = (maker.count, maker.pointer);
    let members = [("refs", 0, count), ("ops", 8, pointer), ("name", 16, pointer)];
    let id = maker.add("small", 24, &members);
    (maker.finish(), id)
}

#[test]
fn of_an_object_that_is_no_larger_than_a_line_alignment_is_proposed_with_its_price() {
    let (model, id) = small();
    let found = proposal(&model, id);
    assert_eq!((found.means, found.price, found.after.size), (Means::Align, 104, 128));
    assert_eq!(found.after.align, 64);
    assert_eq!(found.notes[0], "No order helps: small is no larger than a line.");
    assert!(found.moves.is_empty(), "what follows the word begins a line: {found:#?}");
    assert_eq!(lines(&found.after, "refs"), [0]);
    assert_eq!((lines(&found.after, "ops"), lines(&found.after, "name")), (vec![1], vec![1]));
    assert!(found.score_after < 0.1 * found.score_before);
    assert_eq!(
        found.order,
        ["refs", "(60 bytes of padding)", "ops", "name", "(48 bytes of padding)"]
    );
}

#[test]
fn what_is_split_off_leaves_a_pointer_that_is_read_mostly() {
    let (model, id) = small();
    let all = all(&model, id, &Pins::default());
    let split = all.iter().find(|one| one.means == Means::Split).unwrap();
    assert_eq!((split.after.size, split.price), (24, 64));
    let cell = &split.after.lines[0].cells[0];
    assert_eq!((&*cell.path, &*cell.type_name, cell.size), ("refs", "refcount_t *", 8));
    assert_eq!(cell.role, Role::ReadMostly);
    assert_eq!(split.order, ["*refs", "ops", "name"]);
    assert_eq!(split.score_after, 0.0);
}

#[test]
fn a_type_that_embeds_what_is_aligned_grows_with_it_and_says_so() {
    let mut maker = Maker::new();
    let (count, pointer) = (maker.count, maker.pointer);
    let inner =
        maker.add("inner", 24, &[("refs", 0, count), ("ops", 8, pointer), ("name", 16, pointer)]);
    maker.add("outer", 40, &[("key", 0, pointer), ("in", 8, inner), ("next", 32, pointer)]);
    let model = maker.finish();
    let all = all(&model, inner, &Pins::default());
    let aligned = all.iter().find(|one| one.means == Means::Align).unwrap();
    let outer = &aligned.embedders[0];
    // A line for the key, two for the embedded struct, which begins one, and a last for `next`.
    assert_eq!((outer.size_before, outer.size_after), (40, 256));
}

#[test]
fn a_pinned_word_is_neither_moved_nor_split_off() {
    let (model, id) = small();
    let pins = Pins::new(["refs"]);
    let all = all(&model, id, &pins);
    assert!(all.iter().all(|one| one.means != Means::Split), "{all:#?}");
    assert!(all.iter().all(|one| lines(&one.after, "refs") == [0] && one.moves.is_empty()));
}
