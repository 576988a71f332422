//! The handler without sockets: transcripts, cuts at every byte, and whatever else a client may send.

mod changes;
mod hostile;
mod transcripts;

use std::fs;
use std::path::Path;
use std::time::Duration;

use proptest::prelude::*;
use tempfile::TempDir;
use tenure::sync::Arc;

use super::*;
use crate::buffers::{Buffers, PoolKind};
use crate::handler::Output;

const PAGE: &str = "<p>hello</p>\n";

/// A site, a worker of it, and a connection.
struct Client {
    http: Http,
    session: Option<Session>,
    output: Output<Chunk>,
    input: Vec<u8>,
    /// What was sent.
    sent: Vec<u8>,
    next: Next,
}

impl Client {
    fn of(site: &Arc<Site>) -> Self {
        let mut http = Http::new(Arc::clone(site), || r#"{"answers": 42}"#.to_owned());
        let session = http.open(IpAddr::from([127, 0, 0, 1]));
        let buffer = Buffers::new(PoolKind::Magazines, 16 << 10).unwrap().acquire().unwrap();
        let output = Output::new(buffer);
        Self { http, session, output, input: Vec::new(), sent: Vec::new(), next: Next::Input }
    }

    /// What the event loop does with bytes that came.
    fn receive(&mut self, bytes: &[u8]) {
        self.input.extend_from_slice(bytes);
        if matches!(self.next, Next::End | Next::Linger) {
            return;
        }
        loop {
            // No more than a receive buffer has.
            let seen = &self.input[..self.input.len().min(16 << 10)];
            let session = self.session.as_mut().unwrap();
            let progress = self.http.handle(session, seen, &mut self.output);
            assert!(progress.consumed <= seen.len());
            let (full, sent) = (seen.len() == 16 << 10, self.output.pending());
            self.input.drain(..progress.consumed);
            self.sent.extend(self.output.to_vec());
            self.output.advance(sent);
            self.next = progress.next;
            match progress.next {
                Next::Input => {
                    assert!(progress.consumed > 0 || !full, "a full buffer makes progress");
                    if progress.consumed == 0 || self.input.is_empty() {
                        return;
                    }
                }
                Next::Turn => {}
                Next::Room => assert!(sent > 0, "room is waited for where something is sent"),
                Next::End | Next::Refuse(_) | Next::Linger => return,
            }
        }
    }

    /// The answers to that, without the lines that differ from day to day.
    fn ask(&mut self, request: &str) -> String {
        self.receive(request.as_bytes());
        self.answers()
    }

    fn answers(&mut self) -> String {
        let text = String::from_utf8(std::mem::take(&mut self.sent)).unwrap();
        let varies = ["Date: ", "Last-Modified: ", "ETag: ", "Server: "];
        let lines = text.split_inclusive('\n');
        lines.filter(|line| !varies.iter().any(|name| line.starts_with(name))).collect()
    }

    /// The time has come at which files are looked at again.
    fn second(&mut self) {
        let now = self.http.now + Duration::from_secs(1);
        self.http.tick(now);
    }
}

/// A directory with files, and the site of it.
fn site() -> (TempDir, Arc<Site>) {
    let directory = TempDir::new().unwrap();
    let root = directory.path().join("root");
    fs::create_dir_all(root.join("sub/empty")).unwrap();
    fs::write(root.join("index.html"), PAGE).unwrap();
    fs::write(root.join("sub/index.html"), "sub").unwrap();
    fs::write(root.join("a b.txt"), "blank").unwrap();
    fs::write(root.join("empty.css"), "").unwrap();
    fs::write(directory.path().join("secret"), "secret").unwrap();
    let site = Site::new(&config(&root)).unwrap();
    (directory, Arc::new(site))
}

fn config(root: &Path) -> Config {
    Config {
        root: Some(root.to_owned()),
        fixed: Some(Fixed { path: "/fixed".into(), bytes: 10 }),
        stats: Some("/stats".into()),
        limits: Limits { held: 100_000, ..Limits::default() },
    }
}
