//! Load for HTTP/1.1 servers: one request over and over, on connections that stay or on one for each.

mod answers;

use answers::Scan;

use super::Error;
use super::engine::protocol::{Answer, Protocol, Step};
use super::settings::{Generator, Settings};
use super::workload::Workload;

/// A run against an HTTP server.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The settings of every load.
    pub settings: Settings,
    /// What to get: `/index.html`.
    pub path: String,
    /// The host in requests; by default the address.
    pub host: Option<String>,
    /// Uses a connection for each request, and asks the server to close it.
    pub close: bool,
}

impl Plan {
    /// Of `/`, on connections that stay.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self { settings, path: "/".to_owned(), host: None, close: false }
    }

    fn text(&self) -> String {
        let address = self.settings.target.to_string();
        let host = self.host.as_ref().unwrap_or(&address);
        let close = if self.close { "Connection: close\r\n" } else { "" };
        format!("GET {} HTTP/1.1\r\nHost: {host}\r\n{close}\r\n", self.path)
    }
}

impl Workload for Plan {
    type Protocol = Get;

    const NAME: &'static str = "http";

    fn settings(&self) -> &Settings {
        &self.settings
    }

    fn check(&self) -> Result<(), Error> {
        let is_plain = |text: &str| text.bytes().all(|byte| byte > b' ' && byte != 0x7f);
        let line = if !self.path.starts_with('/') || !is_plain(&self.path) {
            format!(
                "`{}` is not a path; it begins with / and has no blanks",
                self.path.escape_debug()
            )
        } else if !self.host.as_deref().is_none_or(|host| !host.is_empty() && is_plain(host)) {
            "the name of a host is not empty and has no blanks".to_owned()
        } else if self.close && self.settings.pipeline > 1 {
            "a connection for each request has one request; leave --close or --pipeline away"
                .to_owned()
        } else if self.settings.generator == Generator::Memtier {
            "memtier speaks memcached's protocol only; `--with wrk` speaks HTTP".to_owned()
        } else if self.settings.generator == Generator::Wrk && self.settings.pipeline > 1 {
            "wrk has one request under way on a connection; leave --pipeline or --with away"
                .to_owned()
        } else {
            return Ok(());
        };
        Err(Error::new(line))
    }

    fn load(&self) -> String {
        let close = if self.close { ", a connection for each request" } else { "" };
        format!("GET {}{close}", self.path)
    }

    fn closes(&self) -> bool {
        self.close
    }

    fn arguments(&self) -> Vec<String> {
        let host = self.host.as_ref().map(|host| format!("Host: {host}"));
        let close = self.close.then(|| "Connection: close".to_owned());
        let fields = host.into_iter().chain(close).flat_map(|field| ["-H".to_owned(), field]);
        fields.chain([format!("http://{}{}", self.settings.target, self.path)]).collect()
    }

    fn fill(&self) -> Option<Vec<Get>> {
        None
    }

    fn measure(&self) -> Vec<Get> {
        vec![Get { text: self.text().into_bytes() }; self.settings.threads]
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Get {
    text: Vec<u8>,
}

impl Protocol for Get {
    type Ask = ();
    type Scan = Scan;

    const KINDS: &'static [&'static str] = &["request"];

    #[inline]
    fn ask(&mut self, out: &mut Vec<u8>) -> Option<()> {
        out.extend_from_slice(&self.text);
        Some(())
    }

    #[inline]
    fn kind((): ()) -> usize {
        0
    }

    #[inline]
    fn scan(&self, scan: &mut Scan, (): (), input: &[u8]) -> Step {
        scan.take(input)
    }

    fn end(&self, scan: &mut Scan, (): ()) -> Option<Answer> {
        scan.end()
    }
}
