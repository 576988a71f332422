//! A shop's server on axum and hyper, written three times: as a good author writes it today (`plain`), with locks alone (`locks`), and
//! with the library (`tenure`). A user logs in, and has a cart in a session; each request is answered from that.
//!
//! WAY router THREADS    THREADS threads have requests answered without sockets, each for 64 users
//! WAY one THREADS       the same, all for one user
//! WAY serve ADDRESS     serves 64 users with 2 workers

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::FromRequestParts;
use axum::http::header::{CONTENT_TYPE, COOKIE};
use axum::http::request::Parts;
use axum::http::{HeaderValue, Request, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tower::ServiceExt;

mod locks;
mod fixed;
mod plain;
mod timed;

/// Bytes that an answer has room for.
pub const ROOM: usize = 4096;
/// Of a thread, and of a server.
const USERS: u64 = 64;

#[derive(Serialize)]
struct Article {
    name: String,
    cents: u32,
}

/// What the server keeps of a user who has logged in.
pub struct Session {
    user: String,
    cart: Vec<Article>,
    pages: AtomicU64,
}

impl Session {
    pub fn new(id: u64) -> Self {
        let article =
            |number: u32| Article { name: format!("article {number}"), cents: 100 + number };
        Self {
            user: format!("user {id}"),
            cart: (0..8).map(article).collect(),
            pages: AtomicU64::new(0),
        }
    }

    pub fn page(&self) -> Page<'_> {
        let pages = 1 + self.pages.fetch_add(1, Ordering::Relaxed);
        Page { user: &self.user, pages, cart: &self.cart }
    }
}

#[derive(Serialize)]
pub struct Page<'s> {
    user: &'s str,
    pages: u64,
    cart: &'s [Article],
}

/// From the request's cookie.
pub struct SessionId(pub u64);

impl<S: Sync> FromRequestParts<S> for SessionId {
    type Rejection = StatusCode;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, StatusCode> {
        let cookie = parts.headers.get(COOKIE).and_then(|value| value.to_str().ok());
        let id = cookie.and_then(|text| text.strip_prefix("session=")?.parse().ok());
        id.map(Self).ok_or(StatusCode::UNAUTHORIZED)
    }
}

pub fn json(page: Bytes) -> Response {
    ([(CONTENT_TYPE, "application/json")], page).into_response()
}

fn without_sockets() -> Runtime {
    Builder::new_current_thread().build().unwrap()
}

fn answered(runtime: &Runtime, router: &Router, request: Request<Body>) {
    let response = runtime.block_on(router.clone().oneshot(request)).unwrap();
    assert!(response.status().is_success(), "{}", response.status());
}

fn log_in(runtime: &Runtime, router: &Router, users: Range<u64>) {
    for id in users {
        answered(
            runtime,
            router,
            Request::post(format!("/login/{id}")).body(Body::empty()).unwrap(),
        );
    }
}

fn rate(threads: usize, router: &Router, users: impl Fn(u64) -> Range<u64> + Sync) {
    timed::rate(threads, |thread| {
        let (runtime, router) = (without_sockets(), router.clone());
        let users = users(thread as u64);
        log_in(&runtime, &router, users.clone());
        let cookie = |id| HeaderValue::from_str(&format!("session={id}")).unwrap();
        let mut cookies = Vec::from_iter(users.map(cookie)).into_iter().cycle();
        move || {
            let request = Request::get("/").header(COOKIE, cookies.next().unwrap());
            answered(&runtime, &router, request.body(Body::empty()).unwrap());
        }
    });
}

fn serve(address: &str, router: Router, expire: impl Fn() + Send + 'static) {
    log_in(&without_sockets(), &router, 0..USERS);
    let workers = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    workers.block_on(async {
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(Duration::from_secs(60)).await;
                expire();
            }
        });
        let listener = tokio::net::TcpListener::bind(address).await.unwrap();
        axum::serve(listener, router).await.unwrap();
    });
}

/// What a way's `main` does with its server. `expire` ends the sessions that were not used for a minute or two.
pub fn run(what: &str, of: &str, router: Router, expire: impl Fn() + Send + 'static) {
    let threads = || of.parse().expect("how many threads");
    match what {
        "router" => rate(threads(), &router, |thread| thread * USERS..(thread + 1) * USERS),
        "one" => rate(threads(), &router, |_| 0..1),
        "serve" => serve(of, router, expire),
        _ => panic!("router, one or serve"),
    }
}

fn main() {
    let words = Vec::from_iter(std::env::args().skip(1));
    let [way, what, of] = &words[..] else {
        panic!("WAY router|one|serve THREADS|ADDRESS")
    };
    match way.as_str() {
        "plain" => plain::main(what, of),
        "locks" => locks::main(what, of),
        "tenure" => fixed::main(what, of),
        _ => panic!("plain, locks or tenure"),
    }
}
