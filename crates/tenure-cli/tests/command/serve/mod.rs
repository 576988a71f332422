//! `tenure serve` as a program: real clients, hostile ones, many of them, and signals.
//!
//! Missing clients are skipped with a message. With `TENURE_CLIENTS=required`, as in `ci/serve.sh`, they are failures.

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
