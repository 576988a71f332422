//! A router of axum whose handler takes the program's state: `State<Arc<App>>` (`plain`) or `State<Shared<App>>` (`tenure`). THREADS
//! threads have requests answered, without sockets: `router`. Or it serves on ADDRESS with 2 workers: `serve`.

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::Request;
use axum::routing::get;
use std::ops::Deref;
use std::sync::Arc;
use tenure::owner::Owner;
use tower::ServiceExt;

mod timed;

struct App {
    greeting: &'static str,
}

async fn greet<P: Deref<Target = App>>(State(app): State<P>) -> &'static str {
    app.greeting
}

fn run<P: Deref<Target = App> + Clone + Send + Sync + 'static>(words: &[String], app: P) {
    let router = Router::new().route("/", get(greet::<P>)).with_state(app);
    if words[1] == "serve" {
        let workers = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_io()
            .build()
            .unwrap();
        return workers.block_on(async {
            let listener = tokio::net::TcpListener::bind(&words[2]).await.unwrap();
            axum::serve(listener, router).await.unwrap();
        });
    }
    timed::rate(words[2].parse().expect("how many threads"), |_| {
        let (runtime, router) =
            (tokio::runtime::Builder::new_current_thread().build().unwrap(), router.clone());
        move || {
            let request = Request::get("/").body(Body::empty()).unwrap();
            let response = runtime.block_on(router.clone().oneshot(request)).unwrap();
            assert!(response.status().is_success());
        }
    });
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let app = App { greeting: "hello" };
    if words[0] == "tenure" {
        let owner = Owner::new(app);
        run(&words, owner.share());
    } else {
        run(&words, Arc::new(app));
    }
}
