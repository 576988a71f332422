//! The servers that are measured, their load, and the claims about them.

use std::net::SocketAddr;
use std::path::Path;

use crate::load::{self, settings::Settings};

use super::program::{self, Program};

/// Its name on the command line.
pub const GROUP: &str = "e2e";

pub(super) struct Scenario {
    pub(super) id: &'static str,
    pub(super) title: &'static str,
    pub(super) about: &'static str,
    pub(super) load: Load,
    /// Empty without sockets: `memory::CELLS` are measured then.
    pub(super) cells: &'static [Cell],
    pub(super) baseline: &'static str,
    /// The cell with every repair, which the claims are about.
    pub(super) repaired: &'static str,
    pub(super) claims: &'static [Claim],
}

#[derive(Clone, Copy)]
pub(super) enum Load {
    Memcached {
        pipeline: usize,
    },
    HttpClose {
        /// More connections, with two buffers each.
        held: usize,
    },
    Memory,
}

pub(super) type Cell = (&'static str, Server);

pub(super) enum Server {
    /// Its count and its line.
    Memcached(&'static str, &'static str),
    /// Its free list.
    Http(&'static str),
    /// With timed acquires.
    HttpTimed(&'static str),
    RealMemcached,
    Nginx,
}

/// A claim about the repaired cell: against which other, what, and in words.
pub(super) type Claim = (Against, Figure, &'static str);

pub(super) enum Against {
    Baseline,
    Rival,
}

pub(super) enum Figure {
    /// At least so many times the requests.
    Rate(f64),
    /// Less CPU time.
    Cpu,
    Tail,
}

impl Server {
    pub(super) fn is_rival(&self) -> bool {
        matches!(self, Self::RealMemcached | Self::Nginx)
    }

    pub(super) fn start(&self, tenure: &Path, threads: usize) -> Result<Program, String> {
        match self {
            Self::Memcached(count, line) => {
                let options = ["memcached", "--memory", "256m", "--count", count, "--line", line];
                Program::tenure(tenure, threads, &options, program::folder()?)
            }
            Self::Http(pool) | Self::HttpTimed(pool) => {
                let folder = program::folder()?;
                let site = program::site(&folder)?.display().to_string();
                let mut options = vec!["http", &site, "--pool", pool];
                options.extend(matches!(self, Self::HttpTimed(_)).then_some("--time-acquires"));
                Program::tenure(tenure, threads, &options, folder)
            }
            Self::RealMemcached => Program::memcached(threads),
            Self::Nginx => Program::nginx(threads),
        }
    }
}

const MEMCACHED: &[Cell] = &[
    ("inc_not_zero, shared", Server::Memcached("inc-not-zero", "shared")),
    ("inc_not_zero, isolated", Server::Memcached("inc-not-zero", "isolated")),
    ("ticket, shared", Server::Memcached("ticket", "shared")),
    ("ticket, isolated", Server::Memcached("ticket", "isolated")),
    ("memcached", Server::RealMemcached),
];

pub(super) const ALL: [Scenario; 5] = [
    Scenario {
        id: "e2e/memcached",
        title: "memcached, one request at a time",
        about: "50 clients of each thread get and set (100:1) 10,000 keys of 100 bytes, and wait for each answer.",
        load: Load::Memcached { pipeline: 1 },
        cells: MEMCACHED,
        baseline: "inc_not_zero, shared",
        repaired: "ticket, isolated",
        claims: &[
            (
                Against::Rival,
                Figure::Rate(1.0),
                "The server answers as many requests as memcached, one at a time",
            ),
            (
                Against::Rival,
                Figure::Tail,
                "One at a time, the slowest 1 % of requests wait no longer than with memcached",
            ),
        ],
    },
    Scenario {
        id: "e2e/memcached-pipeline",
        title: "memcached, 16 requests at a time",
        about: "The same, with 16 requests under way on each connection.",
        load: Load::Memcached { pipeline: 16 },
        cells: MEMCACHED,
        baseline: "inc_not_zero, shared",
        repaired: "ticket, isolated",
        claims: &[
            (
                Against::Rival,
                Figure::Rate(2.7),
                "With 16 requests at a time it answers 2.7 times as many as memcached (1.6.18 sends after every get)",
            ),
            (
                Against::Rival,
                Figure::Tail,
                "With 16 at a time, the slowest 1 % wait no longer than with memcached",
            ),
            (
                Against::Baseline,
                Figure::Cpu,
                "Both repairs take CPU time off each request of a whole server",
            ),
        ],
    },
    Scenario {
        id: "e2e/http-close",
        title: "HTTP, a connection for each request",
        about: "100 clients of each thread get a page of 612 bytes, each time on a new connection.",
        load: Load::HttpClose { held: 0 },
        cells: &[
            ("scan", Server::Http("scan")),
            ("tagged", Server::Http("tagged")),
            ("magazines", Server::Http("magazines")),
            ("nginx", Server::Nginx),
        ],
        baseline: "scan",
        repaired: "magazines",
        claims: &[(Against::Rival, Figure::Rate(1.0), "Short HTTP connections: as many as nginx")],
    },
    Scenario {
        id: "e2e/http-held",
        title: "HTTP, with 1,000 buffers in use",
        about: "The same while 500 more connections hold a send and a receive buffer each; and each acquire of a pair timed by itself.",
        load: Load::HttpClose { held: 500 },
        cells: &[
            ("scan", Server::HttpTimed("scan")),
            ("tagged", Server::HttpTimed("tagged")),
            ("magazines", Server::HttpTimed("magazines")),
        ],
        baseline: "scan",
        repaired: "magazines",
        claims: &[
            (
                Against::Baseline,
                Figure::Cpu,
                "With 1,000 buffers in use, magazines take CPU time off each connection",
            ),
            (
                Against::Baseline,
                Figure::Rate(1.0),
                "With 1,000 buffers in use, magazines answer no fewer requests",
            ),
        ],
    },
    Scenario {
        id: "e2e/memory",
        title: "memcached's handlers, fed from memory",
        about: "All threads answer gets and sets (100:1) of one client: the same code as above without sockets, kernel and load generator.",
        load: Load::Memory,
        cells: &[],
        baseline: "inc_not_zero, shared",
        repaired: "ticket, isolated",
        claims: &[(
            Against::Baseline,
            Figure::Cpu,
            "Without the kernel's share, both repairs take CPU time off each request",
        )],
    },
];

/// The scenarios with their titles.
#[must_use]
pub fn listed() -> Vec<(String, String)> {
    ALL.iter().map(|one| (one.id.to_owned(), one.title.to_owned())).collect()
}

/// None from memory.
pub(super) fn plan(load: Load, target: SocketAddr, settings: Settings) -> Option<load::Plan> {
    let settings = Settings { target, ..settings };
    match load {
        Load::Memcached { pipeline } => {
            let plan = load::memcached::Plan::new(Settings { pipeline, ..settings });
            Some(load::memcached::Plan { preload: false, ..plan }.into())
        }
        Load::HttpClose { .. } => {
            let plan = load::http::Plan::new(Settings { clients: 100, ..settings });
            let path = "/index.html".to_owned();
            Some(load::http::Plan { path, close: true, ..plan }.into())
        }
        Load::Memory => None,
    }
}
