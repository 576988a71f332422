//! Tenants that tasks load, share and leave behind, and a configuration that is replaced under them.
//!
//! A thousand requests come at once, and again. Each tenant is loaded once, and lingers between its requests; each request
//! has one configuration from its beginning to its end. `cargo run -p tenure-examples --example tenants`

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use tenure::counter::Counter;
use tenure::owner::{Owner, Shared};
use tenure::rcu::RcuCell;
use tenure::registry::{Registered, Registry};
use tokio::runtime::Builder;
use tokio::task::{JoinSet, yield_now};

const TENANTS: u64 = 100;
const REQUESTS: u64 = 1_000;

struct Tenant {
    name: String,
}

struct Config {
    version: u64,
    /// The same number, to see that no request has half of one configuration and half of another.
    again: u64,
}

struct Server {
    tenants: Registry<u64, Tenant>,
    /// The owner is replaced as a whole; requests have what it shares.
    config: RcuCell<Owner<Config>>,
    loaded: Counter,
}

impl Server {
    fn new() -> Self {
        let tenants = Registry::with_linger(TENANTS as usize);
        Self { tenants, config: RcuCell::new(config(0)), loaded: Counter::new() }
    }

    /// Of the requests that want a tenant at once one loads it. If that one is cancelled, another does.
    async fn tenant(&self, id: u64) -> Registered<u64, Tenant> {
        let load = async {
            yield_now().await; // a database would answer here
            self.loaded.add(1);
            Tenant { name: format!("tenant {id}") }
        };
        self.tenants.acquire_async(&id, load).await
    }

    /// Returns the version of the configuration that the request had.
    async fn serve(&self, id: u64) -> u64 {
        let config: Shared<Config> = Owner::share(&self.config.load());
        let tenant = self.tenant(id).await;
        yield_now().await; // and here
        assert_eq!(tenant.name, format!("tenant {id}"));
        assert_eq!(config.version, config.again);
        config.version
    }
}

fn config(version: u64) -> Owner<Config> {
    Owner::new(Config { version, again: version })
}

async fn all_requests(server: &Arc<Server>) -> u64 {
    let mut requests = JoinSet::new();
    for request in 0..REQUESTS {
        let server = Arc::clone(server);
        requests.spawn(async move { server.serve(request % TENANTS).await });
        if request % 100 == 0 {
            yield_now().await;
        }
    }
    requests.join_all().await.into_iter().max().expect("there are requests")
}

async fn run() {
    let server = Arc::new(Server::new());
    let replacing = tokio::spawn({
        let server = Arc::clone(&server);
        async move {
            for version in 1..=200 {
                server.config.store(config(version));
                yield_now().await;
            }
        }
    });
    for _ in 0..5 {
        assert!(all_requests(&server).await <= 200);
    }
    replacing.await.expect("it stores");
    assert_eq!(all_requests(&server).await, 200, "a request has the newest configuration");

    let said = server.tenants.stats();
    assert_eq!((server.loaded.sum(), said.created, said.destroyed), (TENANTS, TENANTS, 0));
    println!("{} requests waited while another one loaded their tenant", said.waited);

    // Cancelled in the middle of loading: the next request loads.
    let new = TENANTS;
    let mut cancelled = Box::pin(server.tenant(new));
    let first_poll = poll_fn(|context| Poll::Ready(cancelled.as_mut().poll(context)));
    assert!(first_poll.await.is_pending());
    let waiting = tokio::spawn({
        let server = Arc::clone(&server);
        async move { server.serve(new).await }
    });
    yield_now().await;
    drop(cancelled);
    assert_eq!(waiting.await.expect("it is not cancelled"), 200);

    // An administrator's change, unless another one was made since they looked.
    let seen = server.config.load_full();
    assert!(server.config.compare_exchange(&seen, config(201)).is_ok());
    assert!(server.config.compare_exchange(&seen, config(202)).is_err());
    assert_eq!(server.serve(7).await, 201);

    // What a task does once a minute, so that no request ends a tenant.
    server.tenants.sweep();
    server.serve(7).await;
    server.tenants.sweep();
    assert!(server.tenants.len() == 1 && server.tenants.get(&7).is_some());
    server.tenants.trim();
    assert!(server.tenants.is_empty());
}

#[cfg_attr(test, test)]
fn main() {
    Builder::new_multi_thread().worker_threads(4).build().expect("threads").block_on(run());
}
