use std::fs;
use std::io::{self, BufRead, BufReader, Read};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, Uid};
use tempfile::TempDir;

use super::result::Acquires;

/// Bounds a start, and an end.
const PATIENCE: Duration = Duration::from_secs(10);

/// A server as a process. Its drop ends it.
pub(super) struct Program {
    child: Child,
    /// A server without a reader of its output would end.
    _stdout: Option<ChildStdout>,
    pub(super) address: SocketAddr,
    pub(super) name: String,
    folder: TempDir,
}

impl Program {
    /// `tenure serve OPTIONS`. Keeps `folder` while it runs.
    pub(super) fn tenure(
        tenure: &Path,
        threads: usize,
        options: &[&str],
        folder: TempDir,
    ) -> Result<Self, String> {
        let mut command = Command::new(tenure);
        end_with_us(&mut command);
        let mut child = command
            .arg("serve")
            .args(options)
            .args(["--threads", &threads.to_string()])
            .args(["--listen", "127.0.0.1:0", "--idle", "3600", "--json"])
            .arg(summary(&folder))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| format!("cannot start {}: {error}", tenure.display()))?;
        let stdout = child.stdout.take().expect("it is piped");
        let mut reader = BufReader::new(stdout);
        let mut line = String::new();
        let _ = reader.read_line(&mut line); // An empty line says no less.
        let address = line.trim().strip_prefix("listening on ").and_then(|text| text.parse().ok());
        let Some(address) = address else {
            let _ = child.kill();
            let mut said = String::new();
            let _ = child.stderr.take().map(|mut stderr| stderr.read_to_string(&mut said));
            let _ = child.wait();
            return Err(format!("`tenure serve` did not start: {}", said.trim()));
        };
        let name = format!("tenure {}", env!("CARGO_PKG_VERSION"));
        Ok(Self { child, _stdout: Some(reader.into_inner()), address, name, folder })
    }

    pub(super) fn memcached(threads: usize) -> Result<Self, String> {
        let name = version("memcached", "-V")?;
        let address = free_address()?;
        let mut command = Command::new("memcached");
        command.args(["-l", "127.0.0.1", "-U", "0", "-m", "256", "-c", "4096"]);
        command.args(["-p", &address.port().to_string(), "-t", &threads.to_string()]);
        if Uid::effective().is_root() {
            command.args(["-u", "root"]);
        }
        Self::other(command, name, address, folder()?)
    }

    pub(super) fn nginx(threads: usize) -> Result<Self, String> {
        let name = version("nginx", "-v")?.replace("nginx version: nginx/", "nginx ");
        let (address, folder) = (free_address()?, folder()?);
        let place = folder.path().display();
        let user = if Uid::effective().is_root() { "user root;" } else { "" };
        let scratch: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|what| format!("{what}_temp_path {place}/{what}; "))
            .concat();
        let settings = format!(
            "{user} worker_processes {threads}; daemon off; pid {place}/pid; error_log {place}/log;\n\
             events {{ worker_connections 4096; }}\n\
             http {{ access_log off; sendfile on; tcp_nopush on; types {{ text/html html; }} {scratch}\n\
             open_file_cache max=100;\n\
             server {{ listen {address} reuseport backlog=4096; root {}; }} }}\n",
            site(&folder)?.display()
        );
        let file = folder.path().join("nginx.conf");
        fs::write(&file, settings).map_err(|error| format!("cannot write {place}: {error}"))?;
        let mut command = Command::new("nginx");
        command.arg("-c").arg(&file).arg("-e").arg(folder.path().join("log"));
        Self::other(command, name, address, folder)
    }

    fn other(
        mut command: Command,
        name: String,
        address: SocketAddr,
        folder: TempDir,
    ) -> Result<Self, String> {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        end_with_us(&mut command);
        let child = command.spawn().map_err(|error| format!("cannot start {name}: {error}"))?;
        let mut program = Self { child, _stdout: None, address, name, folder };
        let deadline = Instant::now() + PATIENCE;
        while TcpStream::connect(address).is_err() {
            if matches!(program.child.try_wait(), Ok(Some(_))) || Instant::now() > deadline {
                return Err(format!("{} did not start", program.name));
            }
            thread::sleep(Duration::from_millis(10));
        }
        Ok(program)
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Ends it by SIGTERM, and returns its acquires if it timed them.
    pub(super) fn stop(mut self) -> Option<Acquires> {
        self.terminate();
        let text = fs::read_to_string(summary(&self.folder)).ok()?;
        let summary: serde_json::Value = serde_json::from_str(&text).ok()?;
        serde_json::from_value(summary.get("acquire_ns")?.clone()).ok()
    }

    fn terminate(&mut self) {
        if let Ok(pid) = i32::try_from(self.child.id()) {
            let _ = kill(Pid::from_raw(pid), Signal::SIGTERM); // It may have ended by itself.
        }
        let deadline = Instant::now() + PATIENCE;
        while matches!(self.child.try_wait(), Ok(None)) {
            if Instant::now() > deadline {
                let _ = self.child.kill();
                let _ = self.child.wait();
                return;
            }
            thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.terminate();
    }
}

fn end_with_us(command: &mut Command) {
    let ask = || set_pdeathsig(Signal::SIGTERM).map_err(io::Error::from);
    // SAFETY: one system call, which allocates nothing and takes no lock.
    unsafe { command.pre_exec(ask) };
}

/// As many as nginx's own page has.
pub(super) const PAGE_BYTES: usize = 612;

pub(super) fn site(folder: &TempDir) -> Result<PathBuf, String> {
    let site = folder.path().join("site");
    let page = site.join("index.html");
    let written = fs::create_dir_all(&site).and_then(|()| fs::write(page, vec![b'x'; PAGE_BYTES]));
    written.map_err(|error| format!("cannot write {}: {error}", site.display()))?;
    Ok(site)
}

pub(super) fn folder() -> Result<TempDir, String> {
    tempfile::tempdir().map_err(|error| format!("cannot make a temporary folder: {error}"))
}

fn summary(folder: &TempDir) -> PathBuf {
    folder.path().join("summary.json")
}

fn version(program: &str, option: &str) -> Result<String, String> {
    let output = Command::new(program).arg(option).stdin(Stdio::null()).output();
    let output = output.map_err(|_| format!("{program} is not installed"))?;
    let said = [output.stdout, output.stderr].concat();
    let line = String::from_utf8_lossy(&said).lines().next().unwrap_or(program).trim().to_owned();
    Ok(line)
}

/// An address that was free a moment ago.
fn free_address() -> Result<SocketAddr, String> {
    let listener = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    listener.map_err(|error| format!("cannot listen at 127.0.0.1: {error}"))
}
