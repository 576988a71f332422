//! A server whose requests all take the same state: an `Arc` that axum clones for each, or, with the argument `fixed`,
//! a reference that lives as long as the program.

use std::env;
use std::ops::Deref;
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::routing::get;
use tokio::net::TcpListener;
use tokio::runtime;

struct App {
    greeting: String,
}

async fn greet<S: Deref<Target = App>>(State(app): State<S>) -> String {
    app.greeting.clone()
}

fn router<S: Deref<Target = App> + Clone + Send + Sync + 'static>(app: S) -> Router {
    Router::new().route("/", get(greet::<S>)).with_state(app)
}

fn main() {
    let mut words = env::args().skip(1);
    let address = words.next().expect("an address to listen on");
    let app = App { greeting: "hello".to_owned() };
    let router = match words.next().as_deref() {
        Some("fixed") => router::<&'static App>(Box::leak(Box::new(app))),
        _ => router(Arc::new(app)),
    };
    let runtime =
        runtime::Builder::new_multi_thread().worker_threads(4).enable_io().build().unwrap();
    runtime.block_on(async {
        let listener = TcpListener::bind(address).await.unwrap();
        axum::serve(listener, router).await.unwrap();
    });
}
