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
use crate::script::Connection;

const BUFFER: usize = 16 << 10;

const PAGE: &str = "<p>hello</p>\n";

struct Client {
    http: Http,
    connection: Connection<Http>,
}

impl Client {
    fn of(site: &Arc<Site>) -> Self {
        let mut http = Http::new(Arc::clone(site), || r#"{"answers": 42}"#.to_owned());
        let buffers = Buffers::new(PoolKind::Magazines, BUFFER).unwrap();
        let connection = Connection::open(&mut http, &buffers, BUFFER);
        Self { http, connection }
    }

    fn receive(&mut self, bytes: &[u8]) {
        self.connection.receive(&mut self.http, bytes);
    }

    /// The output waits.
    fn handle(&mut self, bytes: &[u8]) -> Progress {
        self.http.handle(&mut self.connection.session, bytes, &mut self.connection.output)
    }

    /// The answers without the lines that differ from day to day.
    fn ask(&mut self, request: &str) -> String {
        self.receive(request.as_bytes());
        self.answers()
    }

    fn answers(&mut self) -> String {
        let text = String::from_utf8(std::mem::take(&mut self.connection.sent)).unwrap();
        let varies = ["Date: ", "Last-Modified: ", "ETag: ", "Server: "];
        let lines = text.split_inclusive('\n');
        lines.filter(|line| !varies.iter().any(|name| line.starts_with(name))).collect()
    }

    /// Files are checked again after a second.
    fn second(&mut self) {
        let now = self.http.now + Duration::from_secs(1);
        self.http.tick(now);
    }
}

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
