//! `tenure serve` as a program: real clients, hostile ones, ten thousand of them, and signals.
//!
//! Clients that are not installed are skipped, and that is said. With `TENURE_CLIENTS=required`, as in
//! `ci/serve.sh`, a missing one is a failure.

mod clients;
mod crowd;
mod curl;
mod hostile;
mod http_load;
mod memcached;
mod operated;
mod refused;
mod server;
mod signals;
mod told;
mod traffic;
