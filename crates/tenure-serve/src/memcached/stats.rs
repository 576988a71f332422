//! `stats`, under the names that clients know.

use std::fs::File;
use std::io::Read as _;

use tenure::count::RefCount;
use tenure::registry::{Ref, RegistryCount};

use super::answer::{Answer, ERROR, Lines, VERSION};
use super::classes::{Class, Event};
use super::clock::Clock;
use super::counters::Counter;
use super::request::{Request, Then, reply};
use super::words::Words;
use crate::net::Address;

/// The start of a file in `/proc/self`, without an allocation.
fn of_process<'b>(file: &str, buffer: &'b mut [u8; 1024]) -> Option<&'b str> {
    let len = File::open(file).ok()?.read(buffer).ok()?;
    std::str::from_utf8(&buffer[..len]).ok()
}

fn resident() -> Option<u64> {
    let mut buffer = [0; 1024];
    let pages = of_process("/proc/self/statm", &mut buffer)?.split_whitespace().nth(1)?;
    Some(pages.parse::<u64>().ok()? * rustix::param::page_size() as u64)
}

impl<C: RefCount + 'static, P: RegistryCount> Request<'_, C, P> {
    pub(super) fn stats(&self, words: &Words<'_>, output: &mut Answer<C>) -> Then<C> {
        let mut lines = Lines::default();
        match words.get(1).copied() {
            None => self.general(&mut lines),
            Some(b"reset") => {
                self.shared.workers.reset();
                self.shared.prefixes.clear();
                return reply(output, false, b"RESET\r\n");
            }
            Some(b"settings") => self.settings(&mut lines),
            Some(b"items") => self.items(&mut lines),
            Some(b"slabs") => self.slabs(&mut lines),
            Some(b"sizes") => lines.stat("sizes_status", "disabled"),
            Some(b"conns") => {
                for peer in self.shared.peers.list() {
                    let address = Ref::key(&peer);
                    lines.stat(format_args!("{address}:connections"), peer.connections());
                    lines.stat(format_args!("{address}:requests"), peer.requests());
                }
                for one in self.shared.connections.list() {
                    let number = one.number;
                    // At a socket in the file system, a client has no address.
                    match one.from {
                        from if from.is_unspecified() => {
                            lines.stat(format_args!("{number}:addr"), "unix");
                        }
                        from => {
                            lines.stat(format_args!("{number}:addr"), format_args!("tcp:{from}"));
                        }
                    }
                    let idle = self.visit.now.saturating_sub(one.heard());
                    lines.stat(format_args!("{number}:secs_since_last_cmd"), idle);
                }
            }
            Some(b"detail") => match words.get(2).copied() {
                Some(b"dump") => self.shared.prefixes.dump(&mut lines),
                Some(what @ (b"on" | b"off")) => {
                    self.shared.prefixes.switch(what == b"on");
                    return reply(output, false, b"OK\r\n");
                }
                _ => {
                    let usage = b"CLIENT_ERROR usage: stats detail on|off|dump\r\n";
                    return reply(output, false, usage);
                }
            },
            Some(b"cachedump") => {
                return reply(output, false, b"CLIENT_ERROR stats cachedump not allowed\r\n");
            }
            Some(_) => return reply(output, false, ERROR),
        }
        lines.send(output);
        Then::Done
    }

    /// Figures of each class that ever had an item.
    fn items(&self, lines: &mut Lines) {
        let figures = self.shared.workers.classes();
        for class in Class::all().filter(|class| figures.events(*class, Event::Linked) > 0) {
            let mut stat = |name: &str, value| {
                lines.stat(format_args!("items:{}:{name}", class.number()), value);
            };
            stat("number", figures.items(class));
            stat("mem_requested", figures.bytes(class));
            for (name, event) in [
                ("evicted", Event::Evicted),
                ("evicted_unfetched", Event::EvictedUnfetched),
                ("reclaimed", Event::Reclaimed),
                ("expired_unfetched", Event::ExpiredUnfetched),
                ("crawler_reclaimed", Event::Crawled),
            ] {
                stat(name, figures.events(class, event));
            }
        }
    }

    /// The sizes of those classes, and the memory of all.
    fn slabs(&self, lines: &mut Lines) {
        let figures = self.shared.workers.classes();
        let mut active = 0;
        for class in Class::all().filter(|class| figures.events(*class, Event::Linked) > 0) {
            active += 1;
            let mut stat = |name: &str, value| {
                lines.stat(format_args!("{}:{name}", class.number()), value);
            };
            stat("chunk_size", class.bound().into());
            stat("used_chunks", figures.items(class));
            stat("mem_requested", figures.bytes(class));
        }
        let arena = self.shared.store.arena.figures();
        lines.stat("active_slabs", active);
        lines.stat("total_malloced", arena.blocks + arena.free);
    }

    fn general(&self, lines: &mut Lines) {
        let shared = self.shared;
        let now = self.visit.now;
        lines.stat("pid", std::process::id());
        lines.stat("uptime", Clock::uptime(now));
        lines.stat("time", shared.clock.wall(now));
        lines.stat("version", VERSION);
        lines.stat("pointer_size", usize::BITS);
        if let Some((user, system)) = cpu_seconds() {
            lines.stat("rusage_user", format_args!("{user:.6}"));
            lines.stat("rusage_system", format_args!("{system:.6}"));
        }
        if let Some(server) = shared.server() {
            let statistics = server.statistics();
            lines.stat("max_connections", server.settings().connections);
            lines.stat("accepting_conns", u8::from(statistics.paused == 0));
            for (name, figure) in statistics.named() {
                lines.stat(name, figure);
            }
        }
        lines.stat("peer_connections", shared.connections.len());
        lines.stat("curr_peers", shared.peers.len());
        for ((_, name), count) in Counter::ALL.iter().zip(shared.workers.sum()) {
            lines.stat(name, count);
        }
        if self.visit.crawls() {
            lines.stat("lru_crawler_running", u8::from(self.visit.is_crawling()));
        }
        let [watchers, sent, skipped] = shared.store.watchers.figures();
        lines.stat("log_watcher_skipped", skipped);
        lines.stat("log_watcher_sent", sent);
        lines.stat("log_watchers", watchers);
        lines.stat("limit_maxbytes", shared.store.limit());
        lines.stat("threads", shared.workers.len());
        lines.stat("bytes", shared.store.used());
        lines.stat("curr_items", shared.store.len());
        // These include items being written, and unlinked ones being sent or waiting for a grace period.
        let (items, bytes) = shared.store.alive();
        lines.stat("items_alive", items);
        lines.stat("items_alive_bytes", bytes);
        let figures = shared.store.arena.figures();
        lines.stat("arena_bytes", figures.blocks);
        lines.stat("arena_free_bytes", figures.free);
        lines.stat("arena_overhead_bytes", figures.blocks - figures.live.min(figures.blocks));
        if let Some(bytes) = resident() {
            lines.stat("resident_bytes", bytes);
        }
        lines.stat("count", C::NAME);
    }

    fn settings(&self, lines: &mut Lines) {
        let (limits, config) = (self.limits, &self.shared.config);
        let yes = |yes: bool| if yes { "yes" } else { "no" };
        lines.stat("maxbytes", self.shared.store.limit());
        lines.stat("oldest", self.shared.store.flushed());
        lines.stat("evictions", if config.evictions { "on" } else { "off" });
        lines.stat("num_threads", self.shared.workers.len());
        lines.stat("cas_enabled", "yes");
        lines.stat("auth_enabled_sasl", "no");
        match &config.passwords {
            Some(passwords) => lines.stat("auth_enabled_ascii", passwords.path().display()),
            None => lines.stat("auth_enabled_ascii", "no"),
        }
        let prefixes = &self.shared.prefixes;
        lines.stat("stat_key_prefix", char::from(prefixes.delimiter));
        lines.stat("detail_enabled", yes(prefixes.is_on()));
        if config.requests_per_turn < u64::MAX {
            lines.stat("reqs_per_event", config.requests_per_turn);
        }
        lines.stat("lru_crawler", yes(self.visit.crawls()));
        lines.stat("binding_protocol", "ascii");
        lines.stat("item_size_max", limits.item);
        lines.stat("line_size_max", limits.line);
        lines.stat("connections_per_peer_max", limits.connections);
        if let Some(server) = self.shared.server() {
            let settings = server.settings();
            lines.stat("maxconns", settings.connections);
            match &settings.listen {
                Address::Internet(address) => {
                    lines.stat("tcpport", address.port());
                    lines.stat("inter", address.ip());
                    lines.stat("domain_socket", "NULL");
                }
                Address::Unix(path) => {
                    lines.stat("tcpport", 0);
                    lines.stat("inter", "NULL");
                    lines.stat("domain_socket", path.display());
                }
            }
            lines.stat("umask", format_args!("{:o}", settings.socket_mode));
            lines.stat("udpport", 0);
            lines.stat("verbosity", u8::from(settings.verbose));
            lines.stat("idle_timeout", settings.idle.map_or(0, |idle| idle.as_secs()));
        }
        lines.stat("flush_enabled", yes(config.flush));
        lines.stat("watch_enabled", yes(config.watch));
        lines.stat("dump_enabled", yes(config.dump));
        lines.stat("shutdown_command", yes(config.shutdown));
        lines.stat("client_flags_size", size_of::<u32>());
        lines.stat("count", C::NAME);
        lines.stat("line", config.line);
    }
}

/// Clock ticks of `/proc` in a second: the same on every architecture.
const TICKS: f64 = 100.0;

/// Seconds in the process itself, and in the kernel.
fn cpu_seconds() -> Option<(f64, f64)> {
    let mut buffer = [0; 1024];
    let line = of_process("/proc/self/stat", &mut buffer)?;
    // The process's name may contain anything, and ends at the last parenthesis. The state follows it.
    let (_, fields) = line.rsplit_once(')')?;
    let mut ticks = fields.split_whitespace().skip(11).map(|field| field.parse::<u32>().ok());
    let mut seconds = || Some(f64::from(ticks.next()??) / TICKS);
    Some((seconds()?, seconds()?))
}
