//! Starting a cache as a server.

use tenure::count::RefCount;
use tenure::registry::RegistryCount;

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

        fn visit<C: RefCount + 'static, P: RegistryCount>(
            self,
            cache: Cache<C, P>,
        ) -> Result<Running, String> {
            let handlers = cache.clone();
            let address = self.0.listen.clone();
            let server = Server::start(self.0, move |_, _| handlers.handler())
                .map_err(|error| not_listening(&address, &error))?;
            cache.serve_in(server.shared());
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
