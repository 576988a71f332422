//! Starting a cache as a server.

use std::sync::Arc;

use tenure::count::RefCount;

use super::{Cache, Config, Visitor, with_cell};
use crate::net::{Server, Settings};
use crate::running::{Running, not_listening};
use crate::summary::Summary;

/// Starts a cache with the counts that `config` asks for.
///
/// # Errors
///
/// In one line: why the server does not [start](Server::start).
pub fn start(config: &Config, settings: Settings) -> Result<Running, String> {
    struct Start(Settings);

    impl Visitor for Start {
        type Result = Result<Running, String>;

        fn visit<C: RefCount + 'static, P: RefCount + 'static>(
            self,
            cache: Cache<C, P>,
        ) -> Result<Running, String> {
            let handlers = cache.clone();
            let server = Server::start(self.0, move |_, _| handlers.handler())
                .map_err(|error| not_listening(self.0.listen, &error))?;
            // Weak: the statistics of the cache do not keep the server's, which its workers have.
            let shared = Arc::downgrade(server.shared());
            cache.add_to_stats(move |lines| {
                let Some(shared) = shared.upgrade() else { return };
                for (name, figure) in shared.statistics().named() {
                    lines.stat(name, figure);
                }
            });
            let figures = move |summary: &mut Summary| {
                let (linked, alive) = cache.items();
                summary.add("curr_items", linked);
                summary.add("items_alive", alive);
                summary.add("bytes", cache.used());
                summary.add("peers", cache.peers() as u64);
            };
            Ok(Running::new(server, "memcached", figures))
        }
    }

    with_cell(config, Start(settings))
}
