use std::io::Write;

use rustix::process::{Resource, getrlimit, setrlimit};

use super::server::{PROTOCOLS, Protocol};
use super::traffic::{expect_small, is_served, small, start, stop};

/// If the limit of open files allows it.
const CROWD: u64 = 10_000;

/// Raises the limit of open files. Returns how many connections it allows.
fn crowd() -> u64 {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    setrlimit(Resource::Nofile, limit).unwrap();
    let files = limit.current.unwrap_or(u64::MAX);
    let crowd = CROWD.min(files.saturating_sub(500));
    if crowd < CROWD {
        eprintln!(
            "{crowd} connections in place of {CROWD}: no process may have more than {files} files"
        );
    }
    crowd
}

#[test]
fn ten_thousand_idle_connections_are_kept_and_let_go() {
    let crowd = crowd();
    for protocol in PROTOCOLS {
        let server = start(protocol, &[]);
        is_served(&server);
        let (before, files) = (server.resident(), server.files());
        let mut clients: Vec<_> = (0..crowd).map(|_| server.connect()).collect();
        server.wait_for("all are there", |figures| figures["curr_connections"] == crowd + 1);
        // Some have sent a request, or half of one.
        let request = small(protocol);
        for client in clients.iter_mut().step_by(100) {
            client.write_all(request).unwrap();
            expect_small(&server, client);
            client.write_all(&request[..5]).unwrap();
        }
        let used = server.resident().saturating_sub(before) / crowd;
        eprintln!("{protocol:?}: {used} bytes of memory for each idle connection");
        // Two buffers of 16 KiB each, if kept all the time, and what page alignment loses.
        let buffers = if protocol == Protocol::Http { 2 * (20 << 10) } else { 0 };
        assert!(used < buffers + 2048, "{used}");
        for client in clients.iter_mut().step_by(100) {
            client.write_all(&request[5..]).unwrap();
            expect_small(&server, client);
        }
        drop(clients);
        server.wait_for_no_clients();
        is_served(&server);
        server.wait_for_no_clients();
        assert!(server.files() <= files + 2, "{} files after {files}", server.files());
        stop(server);
    }
}
