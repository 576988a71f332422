//! A web server for short connections, on hyper: each answer is a page that is written into a buffer of a pool, which becomes the
//! body without a copy. Connections that are idle keep buffers: HELD of them are in use all the time.
//!
//! FORM says how a free buffer is found, as by SMC in the kernel:
//!
//! ```text
//!   walk     a walk along all buffers, under a lock that releases share          the kernel's, once
//!   stack    a tagged stack of the free ones
//!   pool     magazines: each thread keeps some                                   `BufferPool`'s own
//! ```
//!
//! FORM memory THREADS HELD    THREADS threads have answers made without sockets
//! FORM serve ADDRESS HELD     serves with 2 workers

use std::convert::Infallible;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tenure::pool::list::{List, Magazines, Scan, TaggedStack};
use tenure::pool::generic::{BufferPool, PooledBuf};
use tokio::net::TcpListener;
use tokio::runtime::Builder;

mod timed;

const ROOM: usize = 4096;
const PAGE: &[u8] = b"<!doctype html><title>seed</title><p>One of many short answers.\n";
/// An answer repeats [`PAGE`] so often.
const TIMES: usize = 10;

struct Pages<L: List> {
    pool: BufferPool<L>,
    _held: Vec<PooledBuf<L>>,
}

impl<L: List> Pages<L> {
    fn new(held: usize) -> Self {
        let pool = BufferPool::builder().classes(ROOM, 1).list().build().expect("a power of two");
        let held = (0..held).map(|_| pool.acquire(ROOM).expect("there is no limit")).collect();
        Self { pool, _held: held }
    }

    fn page(&self) -> Option<Bytes> {
        let mut page = self.pool.acquire(ROOM).ok()?;
        (0..TIMES).for_each(|_| _ = page.extend_from_slice(PAGE));
        Some(page.freeze())
    }

    fn answer(&self, method: &Method, path: &str) -> Response<Full<Bytes>> {
        let (status, body) = match (method, path) {
            (&Method::GET | &Method::HEAD, "/") => match self.page() {
                Some(page) => (StatusCode::OK, page),
                None => (StatusCode::SERVICE_UNAVAILABLE, Bytes::new()),
            },
            (&Method::GET | &Method::HEAD, _) => (StatusCode::NOT_FOUND, Bytes::new()),
            _ => (StatusCode::METHOD_NOT_ALLOWED, Bytes::new()),
        };
        let mut response = Response::new(Full::new(body));
        *response.status_mut() = status;
        response
    }
}

fn serve<L: List>(address: &str, pages: &'static Pages<L>) {
    let workers = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    workers.block_on(async {
        let listener = TcpListener::bind(address).await.expect(address);
        let answer = move |request: Request<Incoming>| async move {
            Ok::<_, Infallible>(pages.answer(request.method(), request.uri().path()))
        };
        loop {
            let Ok((stream, _)) = listener.accept().await else {
                // No descriptor is to be had for a while.
                tokio::time::sleep(Duration::from_millis(10)).await;
                continue;
            };
            _ = stream.set_nodelay(true);
            // A client that breaks off is no fault of the server.
            tokio::spawn(async move {
                let connection = http1::Builder::new();
                _ = connection.serve_connection(TokioIo::new(stream), service_fn(answer)).await;
            });
        }
    });
}

fn run<L: List>(what: &str, of: &str, held: usize) {
    // The tasks that use it may outlive this call.
    let pages: &'static Pages<L> = Box::leak(Box::new(Pages::new(held)));
    match what {
        "memory" => timed::rate(of.parse().expect("how many threads"), |_| {
            || assert_eq!(pages.answer(&Method::GET, "/").status(), StatusCode::OK)
        }),
        "serve" => serve(of, pages),
        _ => panic!("memory or serve"),
    }
}

fn main() {
    let words = Vec::from_iter(std::env::args().skip(1));
    let [form, what, of, held] = &words[..] else {
        panic!("FORM memory|serve THREADS|ADDRESS HELD")
    };
    let held = held.parse().expect("how many buffers are in use");
    match form.as_str() {
        "walk" => run::<Scan>(what, of, held),
        "stack" => run::<TaggedStack>(what, of, held),
        "pool" => run::<Magazines>(what, of, held),
        _ => panic!("walk, stack or pool"),
    }
}
