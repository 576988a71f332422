//! State in an `Arc`, sessions in a `DashMap`, buffers in an `ArrayQueue`.

use crate::{ROOM, Session, SessionId, json, run};
use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::{get, post};
use crossbeam_queue::ArrayQueue;
use dashmap::DashMap;
use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

struct App {
    logins: DashMap<u64, Arc<Login>>,
    buffers: ArrayQueue<Vec<u8>>,
}

struct Login {
    session: Session,
    is_used: AtomicBool,
}

impl App {
    fn new() -> Self {
        Self { logins: DashMap::new(), buffers: ArrayQueue::new(1_000) }
    }

    fn expire(&self) {
        self.logins.retain(|_, login| login.is_used.swap(false, Ordering::Relaxed));
    }
}

/// Goes back to the queue when the answer is sent.
struct Buffer {
    bytes: Vec<u8>,
    app: Arc<App>,
}

impl Buffer {
    fn new(app: Arc<App>) -> Self {
        let bytes = app.buffers.pop().unwrap_or_else(|| Vec::with_capacity(ROOM));
        Self { bytes, app }
    }
}

impl AsRef<[u8]> for Buffer {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let mut bytes = mem::take(&mut self.bytes);
        bytes.clear();
        // Freed if there are enough.
        let _ = self.app.buffers.push(bytes);
    }
}

async fn log_in(State(app): State<Arc<App>>, Path(id): Path<u64>) {
    let new = || Arc::new(Login { session: Session::new(id), is_used: AtomicBool::new(true) });
    app.logins.entry(id).or_insert_with(new);
}

async fn page(
    State(app): State<Arc<App>>,
    SessionId(id): SessionId,
) -> Result<Response, StatusCode> {
    let found = app.logins.get(&id).map(|login| Arc::clone(&login));
    let login = found.ok_or(StatusCode::UNAUTHORIZED)?;
    login.is_used.store(true, Ordering::Relaxed);
    let mut page = Buffer::new(app);
    serde_json::to_writer(&mut page.bytes, &login.session.page())
        .map_err(|_| StatusCode::INTERNAL_SERVER_ERROR)?;
    Ok(json(Bytes::from_owner(page)))
}

pub fn main(what: &str, of: &str) {
    let app = Arc::new(App::new());
    let expiring = app.clone();
    let router = Router::new().route("/", get(page)).route("/login/{id}", post(log_in));
    run(what, of, router.with_state(app), move || expiring.expire());
}
