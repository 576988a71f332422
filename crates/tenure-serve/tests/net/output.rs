//! An answer without memory ends its connection, not the server.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ptr;
use std::sync::Arc;

use tenure::count::TicketRef;
use tenure_serve::buffers::{Buffers, PoolKind};
use tenure_serve::handler::{Handler, Output};
use tenure_serve::http::{self, Http, Limits, Site};
use tenure_serve::memcached::{Cache, Config};
use tenure_serve::script::Connection;

/// The system's allocator, which refuses some threads.
struct Refusing;

thread_local! {
    /// Bytes from which on an allocation is refused.
    static REFUSED: Cell<usize> = const { Cell::new(usize::MAX) };
}

#[global_allocator]
static ALLOCATOR: Refusing = Refusing;

// SAFETY: what is not refused is `System`'s.
unsafe impl GlobalAlloc for Refusing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.size() >= REFUSED.get() {
            return ptr::null_mut();
        }
        // SAFETY: `layout` is as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: `memory` is from `alloc`, and so from `System`.
        unsafe { System.dealloc(memory, layout) }
    }
}

fn without_memory(work: impl FnOnce()) {
    without_pieces_of(0, work);
}

/// Refuses allocations of so many bytes or more.
fn without_pieces_of(bytes: usize, work: impl FnOnce()) {
    REFUSED.set(bytes);
    work();
    REFUSED.set(usize::MAX);
}

fn output() -> Output<Arc<[u8]>> {
    Output::new(Buffers::new(PoolKind::Magazines, 4096).unwrap().acquire().unwrap())
}

/// A client gets `before`, and nothing after the gap.
fn assert_cut_after(before: &[u8], output: &mut Output<Arc<[u8]>>) {
    output.write(b"after");
    output.send(Arc::from(&b"after"[..]), 0);
    assert_eq!((output.to_vec().as_slice(), output.pending()), (before, before.len()));
    assert!(output.take_cut() && !output.take_cut());
    output.advance(before.len());
    output.write(b"of another connection");
    assert_eq!(output.to_vec(), b"of another connection");
}

#[test]
fn bytes_that_do_not_fit_the_buffer_are_cut() {
    let (mut output, long) = (output(), vec![7; 10_000]);
    output.write(b"before");
    without_memory(|| output.write(&long));
    let kept = output.pending();
    assert!((1000..10_000).contains(&kept), "the buffer is filled up");
    assert_cut_after(&[b"before", &long[6..kept]].concat(), &mut output);
}

#[test]
fn bytes_that_follow_bytes_out_of_the_buffer_are_cut() {
    let (mut output, long) = (output(), vec![7; 10_000]);
    output.write(&long);
    without_memory(|| output.write(&long));
    assert_cut_after(&long, &mut output);
}

#[test]
fn the_first_bytes_are_cut() {
    let mut output = output();
    without_memory(|| output.write(b"there is no room for a segment"));
    assert_cut_after(b"", &mut output);
}

#[test]
fn a_chunk_is_cut_and_let_go() {
    let (mut output, chunk) = (output(), Arc::<[u8]>::from(&b"chunk"[..]));
    while Arc::strong_count(&chunk) < 5 {
        output.send(Arc::clone(&chunk), 0);
    }
    let held = Arc::strong_count(&chunk);
    without_memory(|| (0..100).for_each(|_| output.send(Arc::clone(&chunk), 0)));
    let sent = output.pending() / chunk.len();
    assert!(sent < 104 && Arc::strong_count(&chunk) == sent + 1 && sent + 1 >= held);
    assert_cut_after(&b"chunk".repeat(sent), &mut output);
    drop(output);
    assert_eq!(Arc::strong_count(&chunk), 1);
}

#[test]
fn stats_without_memory_for_its_lines_says_so() {
    let cache = Cache::<TicketRef, TicketRef>::new(&Config::default());
    let (mut handler, buffers) =
        (cache.handler(), Buffers::new(PoolKind::Magazines, 4096).unwrap());
    let mut connection = Connection::open(&mut handler, &buffers, 4096);
    // The first request allocates this once.
    connection.receive(&mut handler, b"mn\r\n");
    for kind in ["", " settings", " items", " slabs"] {
        let request = format!("stats{kind}\r\n");
        without_memory(|| {
            let progress =
                handler.handle(&mut connection.session, request.as_bytes(), &mut connection.output);
            assert_eq!(progress.consumed, request.len());
        });
        let answer = connection.output.to_vec();
        connection.output.advance(answer.len());
        match kind {
            " items" => assert_eq!(answer, b"END\r\n", "there are none"),
            _ => assert_eq!(answer, b"SERVER_ERROR out of memory writing stats\r\n", "{kind}"),
        }
    }
    connection.receive(&mut handler, b"stats\r\n");
    assert!(connection.sent.ends_with(b"\r\nEND\r\n"));
    handler.close(connection.session);
}

#[test]
fn a_file_for_which_there_is_no_memory_is_unavailable_or_ends_early() {
    let root = tempfile::tempdir().unwrap();
    std::fs::write(root.path().join("held"), [b'x'; 20_000]).unwrap();
    std::fs::write(root.path().join("large"), [b'x'; 40_000]).unwrap();
    let limits = Limits { held: 30_000, ..Limits::default() };
    let root = Some(root.path().to_owned());
    let site = Site::new(&http::Config { root, limits, ..http::Config::default() }).unwrap();
    let mut http = Http::new(tenure::sync::Arc::new(site), String::new);
    let buffers = Buffers::new(PoolKind::Magazines, 16 << 10).unwrap();
    let mut connection = Connection::open(&mut http, &buffers, 16 << 10);
    let held = b"GET /held HTTP/1.1\r\nHost: x\r\n\r\n";
    without_pieces_of(20_000, || connection.receive(&mut http, held));
    assert!(connection.sent.starts_with(b"HTTP/1.1 503 "));
    connection.sent.clear();
    connection.receive(&mut http, held);
    assert!(connection.sent.ends_with(&[b'x'; 20_000]), "later there is memory");
    connection.sent.clear();
    let large = b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n";
    without_pieces_of(20_000, || connection.receive(&mut http, large));
    assert!(connection.sent.ends_with(b"\r\n\r\n") && connection.has_ended());
    http.close(connection.session);
}
