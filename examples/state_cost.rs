//! What the state of a web program costs each request: `State<Arc<App>>` beside `State<Shared<App>>`, on axum and tokio.
//!
//! ```text
//! cargo run --release -p tenure-examples --example state_cost -- [SECONDS]
//! cargo run --release -p tenure-examples --example state_cost -- serve arc|shared [ADDRESS]
//! wrk http://ADDRESS/
//! ```
//!
//! The first form has no sockets. Connections are tasks that call a service in a loop: a `tower` one that clones the
//! state once, and axum's router, which does so several times. Both kinds of state take turns, in slices of some
//! milliseconds, and a ratio compares the two slices of one turn. `state_cost.toml` is the router's request as a pattern
//! for `tenure sim`; its repair `revocable` is what a `Shared` does, too: no request writes a word that another one reads.

use std::convert::Infallible;
use std::env;
use std::io;
use std::ops::Deref;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::State;
use axum::http::Request;
use axum::response::Response;
use axum::routing::get;
use tenure::owner::Owner;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};
use tokio::task::{JoinSet, yield_now};
use tower::{Service, ServiceExt, service_fn};

const CONNECTIONS: u64 = 64;
/// Of each connection in a slice.
const REQUESTS: u64 = 500;

struct App {
    greeting: &'static str,
}

const APP: App = App { greeting: "hello" };

/// `Arc<App>` or `Shared<App>`.
trait Pointer: Deref<Target = App> + Clone + Send + Sync + 'static {}

impl<P: Deref<Target = App> + Clone + Send + Sync + 'static> Pointer for P {}

/// What a server calls for each request.
trait Web:
    Service<Request<Body>, Response = Response, Error = Infallible, Future: Send>
    + Clone
    + Send
    + 'static
{
}

impl<S> Web for S where
    S: Service<Request<Body>, Response = Response, Error = Infallible, Future: Send>
        + Clone
        + Send
        + 'static
{
}

fn bare(app: impl Pointer) -> impl Web {
    service_fn(move |_: Request<Body>| {
        let app = app.clone();
        async move { Ok(Response::new(Body::from(app.greeting))) }
    })
}

fn routed<P: Pointer>(app: P) -> Router {
    async fn hello<P: Pointer>(State(app): State<P>) -> &'static str {
        app.greeting
    }
    Router::new().route("/", get(hello::<P>)).with_state(app)
}

async fn connection(mut service: impl Web) {
    for _ in 0..REQUESTS {
        let Ok(service) = service.ready().await;
        let Ok(response) = service.call(Request::new(Body::empty())).await;
        assert!(response.status().is_success());
        // As if it waited for its socket.
        yield_now().await;
    }
}

/// One slice.
fn all_connections<'r>(
    runtime: &'r Runtime,
    service: impl Web + 'r,
) -> Box<dyn Fn() -> Duration + 'r> {
    Box::new(move || {
        let began = Instant::now();
        let mut connections = JoinSet::new();
        for _ in 0..CONNECTIONS {
            connections.spawn_on(connection(service.clone()), runtime.handle());
        }
        runtime.block_on(connections.join_all());
        began.elapsed()
    })
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn compare(length: Duration) -> io::Result<()> {
    let runtime = Builder::new_multi_thread().build()?;
    let owner = Owner::new(APP);
    let counted = Arc::new(APP);
    let (counted, shared) = (|| Arc::clone(&counted), || owner.share());
    let kinds = [
        (
            "tower service",
            all_connections(&runtime, bare(counted())),
            all_connections(&runtime, bare(shared())),
        ),
        (
            "axum router",
            all_connections(&runtime, routed(counted())),
            all_connections(&runtime, routed(shared())),
        ),
    ];
    let began = Instant::now();
    let mut turns = [const { Vec::new() }; 2];
    while turns[0].len() < 2 || began.elapsed() < length {
        for ((_, counted, shared), turns) in kinds.iter().zip(&mut turns) {
            // Each is first in half of the turns.
            turns.push(if turns.len() % 2 == 0 {
                [counted(), shared()]
            } else {
                let shared = shared();
                [counted(), shared]
            });
        }
    }
    let threads = runtime.metrics().num_workers();
    println!("{threads} threads, {} turns; ns of a thread for each request", turns[0].len());
    println!("{:>26}{:>18}{:>8}", "State<Arc>", "State<Shared>", "time");
    for ((name, ..), turns) in kinds.iter().zip(turns) {
        // The first one warms up.
        let turns = &turns[1..];
        let ns = |at: usize| {
            let of_slice = turns.iter().map(|turn: &[Duration; 2]| turn[at].as_secs_f64() * 1e9);
            median(of_slice.collect()) * threads as f64 / (CONNECTIONS * REQUESTS) as f64
        };
        let ratios =
            turns.iter().map(|[counted, shared]| shared.as_secs_f64() / counted.as_secs_f64());
        let ratio = median(ratios.collect());
        println!("{name:<16}{:>10.0}{:>18.0}{ratio:>8.2}", ns(0), ns(1));
    }
    Ok(())
}

/// HTTP/1.1 for requests without a body.
async fn answer(mut stream: TcpStream, mut service: impl Web) -> io::Result<()> {
    let mut input = Vec::new();
    while stream.read_buf(&mut input).await? > 0 {
        while let Some(end) = input.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
            input.drain(..end + 4);
            let Ok(service) = service.ready().await;
            let Ok(response) = service.call(Request::new(Body::empty())).await;
            let body = to_bytes(response.into_body(), 1 << 10).await.map_err(io::Error::other)?;
            let mut output = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len());
            output.push_str(&String::from_utf8_lossy(&body));
            stream.write_all(output.as_bytes()).await?;
        }
    }
    Ok(())
}

async fn serve(address: &str, service: impl Web) -> io::Result<()> {
    let listener = TcpListener::bind(address).await?;
    println!("process {}, at {}", std::process::id(), listener.local_addr()?);
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        tokio::spawn(answer(stream, service.clone()));
    }
}

#[cfg_attr(test, test)]
fn main() -> io::Result<()> {
    let words = Vec::from_iter(env::args().skip(1));
    let words = Vec::from_iter(words.iter().map(String::as_str));
    match words[..] {
        // The words are the test's.
        _ if cfg!(test) => compare(Duration::ZERO),
        ["serve", kind @ ("arc" | "shared"), ref address @ ..] if address.len() <= 1 => {
            let address = address.first().copied().unwrap_or("127.0.0.1:8080");
            let owner = Owner::new(APP);
            let service = match kind {
                "arc" => routed(Arc::new(APP)),
                _ => routed(owner.share()),
            };
            Builder::new_multi_thread().enable_io().build()?.block_on(serve(address, service))
        }
        [] => compare(Duration::from_secs(10)),
        [seconds] => {
            let seconds = seconds.parse().map_err(io::Error::other)?;
            compare(Duration::try_from_secs_f64(seconds).map_err(io::Error::other)?)
        }
        _ => Err(io::Error::other("usage: state_cost [SECONDS] | serve arc|shared [ADDRESS]")),
    }
}
