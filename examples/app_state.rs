//! The state of a web program, which each request and each task has a pointer to: an `Arc`, or a `Shared` whose clones no
//! two cores count together. A shutdown refuses new requests, and waits for those under way.
//!
//! `cargo run -p tenure-examples --example app_state`

use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::{Request, StatusCode};
use axum::routing::get;
use tenure::counter::Counter;
use tenure::owner::Owner;
use tokio::task::JoinSet;
use tower::ServiceExt;

const CLIENTS: u64 = 8;
const REQUESTS: u64 = 500;

struct App {
    greeting: &'static str,
    /// Each thread adds to a word of its own.
    served: Counter,
    logged: Counter,
}

impl App {
    fn new() -> Self {
        Self { greeting: "hello", served: Counter::new(), logged: Counter::new() }
    }
}

/// `Arc<App>` or `Shared<App>`.
trait Pointer: Deref<Target = App> + Clone + Send + Sync + 'static {}

impl<P: Deref<Target = App> + Clone + Send + Sync + 'static> Pointer for P {}

async fn hello<P: Pointer>(State(app): State<P>) -> &'static str {
    app.served.add(1);
    let of_task = app.clone();
    let logged = tokio::spawn(async move {
        // Held across an await, and dropped on any thread.
        tokio::task::yield_now().await;
        of_task.logged.add(1);
    });
    logged.await.expect("it does not panic");
    app.greeting
}

/// Requests of many clients at once, without sockets.
async fn load<P: Pointer>(app: P) {
    let router = Router::new().route("/", get(hello::<P>)).with_state(app);
    let mut clients = JoinSet::new();
    for _ in 0..CLIENTS {
        let router = router.clone();
        clients.spawn(async move {
            for _ in 0..REQUESTS {
                let request = Request::get("/").body(Body::empty()).expect("it is well-formed");
                let response = router.clone().oneshot(request).await.expect("it is infallible");
                assert_eq!(response.status(), StatusCode::OK);
            }
        });
    }
    while let Some(client) = clients.join_next().await {
        client.expect("it was answered");
    }
}

#[cfg_attr(test, tokio::test(flavor = "multi_thread", worker_threads = 4))]
#[cfg_attr(not(test), tokio::main)]
async fn main() {
    static APP: OnceLock<Owner<App>> = OnceLock::new();

    let counted = Arc::new(App::new());
    load(Arc::clone(&counted)).await;
    assert_eq!(counted.served.sum(), CLIENTS * REQUESTS);
    assert_eq!(Arc::strong_count(&counted), 1, "all requests have given it back");

    let owner = APP.get_or_init(|| Owner::new(App::new()));
    load(owner.share()).await;
    let last = owner.share();
    assert_eq!((last.served.sum(), last.logged.sum()), (CLIENTS * REQUESTS, CLIENTS * REQUESTS));

    // Shutdown: a request that is under way keeps the state, and no new one gets it.
    let closing = owner.close();
    assert!(owner.try_share().is_none());
    let under_way = tokio::spawn(async move {
        tokio::task::yield_now().await;
        last.greeting
    });
    closing.await;
    assert_eq!(under_way.await.expect("it does not panic"), "hello");
    println!("{} requests, twice, and a shutdown", CLIENTS * REQUESTS);
}
