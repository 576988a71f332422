use super::*;
use crate::buffers::{Buffers, PoolKind};
use tenure::count::{IncNotZero, RcuRef, TicketRef};

fn recipe(key: &[u8], len: usize) -> Recipe<'_> {
    Recipe { key, hash: 1, flags: 7, expiry: 0, len, state: 0, number: 0 }
}

fn all<C: RefCount + 'static>(item: &ItemRef<C>) -> Vec<u8> {
    item.data().collect::<Vec<_>>().concat()
}

fn sent<C: RefCount + 'static>(item: &ItemRef<C>, start: usize, ends: bool) -> Vec<u8> {
    let buffers = Buffers::new(PoolKind::Tagged, 4096).unwrap();
    let mut output = Output::new(buffers.acquire().unwrap());
    item.share().send(start, ends, &mut output);
    output.to_vec()
}

fn an_item_is_written_as_a_get_answers_it<C: RefCount + 'static>() {
    let arena = Arc::new(Arena::new());
    let mut draft = Draft::<C>::new(&recipe(b"key", 4), &arena).unwrap();
    assert_eq!(draft.missing(), 6);
    assert_eq!(draft.fill(b"da"), 2);
    assert_eq!(draft.fill(b"ta\r\nget"), 4);
    let item = draft.finish();
    assert_eq!(sent(&item, 0, true), b"VALUE key 7 4\r\ndata\r\nEND\r\n");
    assert_eq!(sent(&item, 6, false), b"key 7 4\r\ndata\r\n");
    assert_eq!((item.key(), item.short_data(), item.flags), (&b"key"[..], Some(&b"data"[..]), 7));
    let other = item.get().unwrap();
    assert_eq!((arena.items(), arena.live()), (1, item.size() as u64));
    drop(item);
    assert_eq!(all(&other), b"data");
    drop(other);
    assert_eq!((arena.items(), arena.live()), (0, 0));
}

#[test]
fn an_item_of_any_length_is_whole_in_its_cells_and_in_a_copy() {
    let arena = Arc::new(Arena::new());
    for len in (0..40_000).step_by(997).chain([65_000, 65_536, 100_000, 500_000]) {
        let data: Vec<u8> = (0..len).map(|at| (at % 251) as u8).collect();
        let mut draft = Draft::<TicketRef>::new(&recipe(b"key", len), &arena).unwrap();
        data.chunks(1000).for_each(|part| assert_eq!(draft.fill(part), part.len()));
        assert!(!draft.ends_line());
        assert_eq!((draft.fill(b"\r"), draft.fill(b"\n"), draft.ends_line()), (1, 1, true));
        let item = draft.finish();
        item.cas.set(9);
        let copy = item.copy(&arena).unwrap();
        let answer = [format!("VALUE key 7 {len}\r\n").as_bytes(), &data, b"\r\nEND\r\n"].concat();
        for one in [&item, &copy] {
            assert_eq!((one.len(), one.cas.get(), one.key()), (len, 9, &b"key"[..]));
            assert!(all(one) == data && sent(one, 0, true) == answer, "{len}");
            assert!(sent(one, one.data_start(), false) == [&data[..], b"\r\n"].concat());
        }
        assert!(arena.live() < 2 * (len + len / 4 + 300) as u64);
    }
    assert_eq!(arena.figures().blocks, 0);
}

#[test]
fn with_every_count_an_item_is_written_as_a_get_answers_it() {
    an_item_is_written_as_a_get_answers_it::<IncNotZero>();
    an_item_is_written_as_a_get_answers_it::<RcuRef>();
    an_item_is_written_as_a_get_answers_it::<TicketRef>();
}

#[test]
fn a_draft_that_is_dropped_leaves_nothing() {
    let arena = Arc::new(Arena::new());
    let mut draft = Draft::<TicketRef>::new(&recipe(b"", 1000), &arena).unwrap();
    draft.fill(b"half");
    drop(draft);
    assert_eq!((arena.items(), arena.live()), (0, 0));
}

#[test]
fn a_hit_marks_an_item_once_and_the_hand_takes_one_mark_away() {
    let arena = Arc::new(Arena::new());
    let mut draft = Draft::<RcuRef>::new(&recipe(b"k", 0), &arena).unwrap();
    draft.fill(b"\r\n");
    let item = draft.finish();
    item.hit(9);
    assert_eq!((item.state(), item.time()), (state::FETCHED | state::REFERENCED, 9));
    assert_eq!(item.mark(0, state::REFERENCED), state::FETCHED | state::REFERENCED);
    assert_eq!(item.state(), state::FETCHED);
}
