//! State by an `Owner`, sessions in a `Registry`, buffers in a `BufferPool`.

use crate::{ROOM, Session, SessionId, json, run};
use axum::Router;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::{get, post};
use tenure::owner::{Owner, Shared};
use tenure::pool::BufferPool;
use tenure::registry::Registry;

struct App {
    sessions: Registry<u64, Session>,
    buffers: BufferPool,
}

impl App {
    fn new() -> Self {
        let buffers = BufferPool::builder().classes(ROOM, 1).build().expect("a power of two");
        Self { sessions: Registry::with_linger(100_000), buffers }
    }
}

async fn log_in(State(app): State<Shared<App>>, Path(id): Path<u64>) {
    app.sessions.acquire(&id, || Session::new(id));
}

async fn page(
    State(app): State<Shared<App>>,
    SessionId(id): SessionId,
) -> Result<Response, StatusCode> {
    let session = app.sessions.get(&id).ok_or(StatusCode::UNAUTHORIZED)?;
    let mut page = app.buffers.acquire(ROOM).map_err(|_| StatusCode::SERVICE_UNAVAILABLE)?;
    serde_json::to_writer(&mut page, &session.page())
        .map_err(|_| StatusCode::INTERNAL_SERVER_ERROR)?;
    Ok(json(page.freeze()))
}

pub fn main(what: &str, of: &str) {
    let owner = Owner::new(App::new());
    let (app, expiring) = (owner.share(), owner.share());
    let router = Router::new().route("/", get(page)).route("/login/{id}", post(log_in));
    run(what, of, router.with_state(app), move || expiring.sessions.sweep());
}
