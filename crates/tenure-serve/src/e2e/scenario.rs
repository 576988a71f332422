//! Which servers are measured, and under which load.

use std::net::SocketAddr;
use std::path::Path;

use crate::load::{self, settings::Settings};

use super::program::{self, Program};

/// The name of the whole on the command line.
pub const GROUP: &str = "e2e";

/// Connections that hold their buffers and ask for nothing: two buffers each.
const HELD: usize = 500;

/// What is measured.
pub(super) struct Scenario {
    pub(super) id: &'static str,
    pub(super) title: &'static str,
    pub(super) about: &'static str,
    pub(super) baseline: &'static str,
    pub(super) kind: Kind,
}

/// Where the requests come from.
pub(super) enum Kind {
    /// From clients, through sockets.
    Sockets(Load),
    /// From memory.
    Memory,
}

/// A load on servers that are processes of their own.
pub(super) struct Load {
    pub(super) cells: &'static [Cell],
    pub(super) protocol: Protocol,
    /// Connections that are open meanwhile.
    pub(super) held: usize,
}

#[derive(Clone, Copy)]
pub(super) enum Protocol {
    Memcached { pipeline: usize },
    HttpClose,
}

/// A server.
pub(super) struct Cell {
    pub(super) name: &'static str,
    pub(super) server: Server,
}

pub(super) enum Server {
    /// `tenure serve memcached` with these.
    Memcached {
        count: &'static str,
        line: &'static str,
    },
    /// `tenure serve http` with that free list, and its acquires timed or not.
    Http {
        pool: &'static str,
        timed: bool,
    },
    /// Debian's, or whichever is on PATH.
    RealMemcached,
    Nginx,
}

impl Server {
    /// Whether somebody else wrote it.
    pub(super) fn is_rival(&self) -> bool {
        matches!(self, Self::RealMemcached | Self::Nginx)
    }

    /// Starts it.
    pub(super) fn start(&self, tenure: &Path, threads: usize) -> Result<Program, String> {
        let threads_option = ["--threads".to_owned(), threads.to_string()];
        match self {
            Self::Memcached { count, line } => {
                let mut arguments: Vec<String> =
                    ["memcached", "--memory", "256m", "--count", count, "--line", line]
                        .map(str::to_owned)
                        .to_vec();
                arguments.extend(threads_option);
                Program::tenure(tenure, &arguments)
            }
            Self::Http { pool, timed } => {
                // The server reads the page before it says that it listens, and holds it.
                let folder = program::folder()?;
                let site = program::site(&folder)?;
                let mut arguments = vec!["http".to_owned(), site.display().to_string()];
                arguments.extend(["--pool".to_owned(), (*pool).to_owned()]);
                arguments.extend(threads_option);
                arguments.extend(timed.then(|| "--time-acquires".to_owned()));
                let mut program = Program::tenure(tenure, &arguments)?;
                program.keep(folder);
                Ok(program)
            }
            Self::RealMemcached => Program::memcached(threads),
            Self::Nginx => Program::nginx(threads),
        }
    }
}

const MEMCACHED: [Cell; 5] = [
    Cell {
        name: "inc_not_zero, shared",
        server: Server::Memcached { count: "inc-not-zero", line: "shared" },
    },
    Cell {
        name: "inc_not_zero, isolated",
        server: Server::Memcached { count: "inc-not-zero", line: "isolated" },
    },
    Cell { name: "ticket, shared", server: Server::Memcached { count: "ticket", line: "shared" } },
    Cell {
        name: "ticket, isolated",
        server: Server::Memcached { count: "ticket", line: "isolated" },
    },
    Cell { name: "memcached", server: Server::RealMemcached },
];

const HTTP: [Cell; 4] = [
    Cell { name: "scan", server: Server::Http { pool: "scan", timed: false } },
    Cell { name: "tagged", server: Server::Http { pool: "tagged", timed: false } },
    Cell { name: "magazines", server: Server::Http { pool: "magazines", timed: false } },
    Cell { name: "nginx", server: Server::Nginx },
];

const HELD_HTTP: [Cell; 3] = [
    Cell { name: "scan", server: Server::Http { pool: "scan", timed: true } },
    Cell { name: "tagged", server: Server::Http { pool: "tagged", timed: true } },
    Cell { name: "magazines", server: Server::Http { pool: "magazines", timed: true } },
];

/// All scenarios, in the order of the report.
pub(super) fn all() -> Vec<Scenario> {
    vec![
        Scenario {
            id: "e2e/memcached",
            title: "memcached, one request at a time",
            about: "50 clients of each thread get and set (100:1) 10,000 keys of 100 bytes, and wait for each answer.",
            baseline: "inc_not_zero, shared",
            kind: Kind::Sockets(Load {
                cells: &MEMCACHED,
                protocol: Protocol::Memcached { pipeline: 1 },
                held: 0,
            }),
        },
        Scenario {
            id: "e2e/memcached-pipeline",
            title: "memcached, 16 requests at a time",
            about: "The same, with 16 requests under way on each connection.",
            baseline: "inc_not_zero, shared",
            kind: Kind::Sockets(Load {
                cells: &MEMCACHED,
                protocol: Protocol::Memcached { pipeline: 16 },
                held: 0,
            }),
        },
        Scenario {
            id: "e2e/http-close",
            title: "HTTP, a connection for each request",
            about: "100 clients of each thread get a page of 612 bytes, each time on a new connection.",
            baseline: "scan",
            kind: Kind::Sockets(Load { cells: &HTTP, protocol: Protocol::HttpClose, held: 0 }),
        },
        Scenario {
            id: "e2e/http-held",
            title: "HTTP, with 1,000 buffers in use",
            about: "The same while 500 more connections hold a send and a receive buffer each; and each acquire of a pair timed by itself.",
            baseline: "scan",
            kind: Kind::Sockets(Load {
                cells: &HELD_HTTP,
                protocol: Protocol::HttpClose,
                held: HELD,
            }),
        },
        Scenario {
            id: "e2e/memory",
            title: "memcached's handlers, fed from memory",
            about: "All threads answer gets and sets (100:1) of one client: the same code as above without sockets, kernel and load generator.",
            baseline: "inc_not_zero, shared",
            kind: Kind::Memory,
        },
    ]
}

/// The scenarios with their titles.
#[must_use]
pub fn listed() -> Vec<(String, String)> {
    all().iter().map(|one| (one.id.to_owned(), one.title.to_owned())).collect()
}

/// What drives a server for a round.
pub(super) fn plan(protocol: Protocol, address: SocketAddr, settings: Settings) -> load::Plan {
    let settings = Settings { target: address, ..settings };
    match protocol {
        Protocol::Memcached { pipeline } => {
            let settings = Settings { pipeline, ..settings };
            let mut plan = load::memcached::Plan::new(settings);
            plan.preload = false;
            plan.into()
        }
        Protocol::HttpClose => {
            let mut plan = load::http::Plan::new(Settings { clients: 100, ..settings });
            plan.path = "/index.html".to_owned();
            plan.close = true;
            plan.into()
        }
    }
}

/// What is done once before the rounds: the keys are set.
pub(super) fn preload(
    protocol: Protocol,
    address: SocketAddr,
    settings: Settings,
) -> Option<load::Plan> {
    match plan(protocol, address, settings) {
        load::Plan::Memcached(plan) => Some(load::memcached::Plan { preload: true, ..plan }.into()),
        load::Plan::Http(_) => None,
    }
}
