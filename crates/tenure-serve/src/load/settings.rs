//! The settings of every load.

use std::net::{SocketAddr, ToSocketAddrs as _};
use std::time::Duration;

use super::Error;

/// The load: from where, to where, how much and for how long.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// The server.
    pub target: SocketAddr,
    /// Threads that make the load.
    pub threads: usize,
    /// Connections of each thread.
    pub clients: usize,
    /// Requests under way on each connection.
    pub pipeline: usize,
    /// Requests a second in all, for an open loop. By default, answers trigger requests: a closed loop.
    pub rate: Option<f64>,
    /// How long is measured.
    pub length: Length,
    /// Unmeasured load before that.
    pub warmup: Duration,
    /// How long a client waits for anything to come.
    pub timeout: Duration,
    /// Processes of the server, whose CPU time is measured with that of their children.
    pub pids: Vec<u32>,
    /// What makes the load.
    pub generator: Generator,
}

/// How long is measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Length {
    /// For a time.
    Time(Duration),
    /// For a number of requests, over all threads.
    Requests(u64),
}

/// What makes the load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Generator {
    /// This crate.
    #[default]
    Own,
    /// `memtier_benchmark`, found on `PATH`.
    Memtier,
    /// `wrk`, found on `PATH`.
    Wrk,
}

impl Settings {
    /// 2 threads with 50 clients each, for 10 seconds after 1 of warming up.
    #[must_use]
    pub fn new(target: SocketAddr) -> Self {
        Self {
            target,
            threads: 2,
            clients: 50,
            pipeline: 1,
            rate: None,
            length: Length::Time(Duration::from_secs(10)),
            warmup: Duration::from_secs(1),
            timeout: Duration::from_secs(10),
            pids: Vec::new(),
            generator: Generator::Own,
        }
    }

    /// Connections in all.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.threads * self.clients
    }

    pub(crate) fn check(&self) -> Result<(), Error> {
        let within = |what: &str, number: usize, most: usize| {
            if (1..=most).contains(&number) {
                return Ok(());
            }
            Err(Error::new(format!("{what} are 1 to {most}, not {number}")))
        };
        within("threads", self.threads, 1024)?;
        within("clients of a thread", self.clients, 1 << 20)?;
        within("requests in a pipeline", self.pipeline, 1 << 16)?;
        let is_empty = match self.length {
            Length::Time(time) => time.is_zero(),
            Length::Requests(count) => count == 0,
        };
        if is_empty {
            return Err(Error::new("a run of no time or no requests measures nothing"));
        }
        if self.timeout.is_zero() {
            return Err(Error::new("a timeout is longer than 0 seconds"));
        }
        match self.rate {
            Some(rate) if !(rate > 0.0 && rate <= 1e9) => {
                Err(Error::new("--rate is above 0 and at most 1,000,000,000 requests a second"))
            }
            Some(_) if self.generator != Generator::Own => {
                let line =
                    "only Tenure's own generator has an open loop; leave --rate or --with away";
                Err(Error::new(line))
            }
            _ => Ok(()),
        }
    }
}

/// The server at `HOST:PORT`.
///
/// # Errors
///
/// Text of another form, or an unknown host.
pub fn resolve(address: &str) -> Result<SocketAddr, Error> {
    let mut found = address.to_socket_addrs().map_err(|error| {
        let error = error.to_string();
        // The resolver adds lines of detail.
        let why = error.lines().next().unwrap_or_default();
        Error::new(format!(
            "cannot find `{address}`: {why}; write HOST:PORT, such as 127.0.0.1:8080, without `http://` and a path"
        ))
    })?;
    found.next().ok_or_else(|| Error::new(format!("`{address}` has no address")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_a_host_and_a_port() {
        assert_eq!(resolve("127.0.0.1:80").unwrap().to_string(), "127.0.0.1:80");
        assert_eq!(resolve("[::1]:80").unwrap().to_string(), "[::1]:80");
        for bad in ["127.0.0.1", "80", "", "127.0.0.1:99999", "::1"] {
            let line = resolve(bad).unwrap_err().to_string();
            assert!(line.contains("HOST:PORT") && line.lines().count() == 1, "{line}");
        }
    }

    #[test]
    fn nonsense_is_refused() {
        let good = Settings::new(resolve("127.0.0.1:80").unwrap());
        good.check().unwrap();
        for (bad, says) in [
            (Settings { threads: 0, ..good.clone() }, "threads"),
            (Settings { clients: 0, ..good.clone() }, "clients"),
            (Settings { pipeline: 0, ..good.clone() }, "pipeline"),
            (Settings { rate: Some(0.0), ..good.clone() }, "rate"),
            (Settings { rate: Some(f64::NAN), ..good.clone() }, "rate"),
            (Settings { length: Length::Requests(0), ..good.clone() }, "nothing"),
            (Settings { length: Length::Time(Duration::ZERO), ..good.clone() }, "nothing"),
            (Settings { timeout: Duration::ZERO, ..good.clone() }, "timeout"),
            (Settings { rate: Some(1.0), generator: Generator::Wrk, ..good.clone() }, "--rate"),
        ] {
            let line = bad.check().unwrap_err().to_string();
            assert!(line.contains(says), "{line}");
        }
    }
}
