mod args;

use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;
use tenure_serve::memcached::Passwords;
use tenure_serve::net::{Server, Settings};
use tenure_serve::process::allow_connections;
use tenure_serve::running::Running;
use tenure_serve::{http, memcached};

use crate::failure::Failure;
use crate::output::{self, Json};
use args::Net;
pub(crate) use args::Serve;

const LOOK: Duration = Duration::from_millis(50);

pub(crate) fn run(arguments: &Serve) -> Result<(), Failure> {
    match arguments {
        Serve::Memcached(arguments) => {
            let settings = arguments.net.settings(11211, None);
            make_room(&settings);
            let config = arguments.config()?;
            serve(&arguments.net, memcached::start(&config, settings), config.passwords.as_ref())
        }
        Serve::Http(arguments) => {
            let fixed = arguments.body.map(|bytes| http::Fixed { path: "/".to_owned(), bytes });
            let config = http::Config {
                root: arguments.root.clone(),
                fixed,
                stats: arguments.stats.clone(),
                ..http::Config::default()
            };
            let mut settings = arguments.net.settings(8080, Some(Duration::from_secs(60)));
            settings.time_acquires = arguments.time_acquires;
            make_room(&settings);
            serve(&arguments.net, http::start(&config, settings), None)
        }
    }
}

/// Raises the limit of open files, and warns if that is too low.
fn make_room(settings: &Settings) {
    if !allow_connections(settings.connections) {
        eprintln!(
            "warning: the limit of open files allows fewer than {} connections; raise it (`ulimit -Hn`), or give \
             --connections",
            settings.connections
        );
    }
}

/// Serves until a signal, then reports. With passwords, SIGHUP reloads them instead.
fn serve(
    arguments: &Net,
    started: Result<Running, String>,
    passwords: Option<&Passwords>,
) -> Result<(), Failure> {
    let running = started.map_err(Failure::input)?;
    let json = Json::of(arguments.json.as_ref());
    output::check_all(json, None)?;
    let pid_file = arguments.pid_file.as_deref().map(PidFile::write).transpose()?;
    wait(json, &running.server, passwords)?;
    let (ended, summary) = running.stop();
    drop(pid_file);
    output::deliver(json, &summary.json(), None, String::new, |_| summary.text())?;
    ended.map_err(|error| Failure::Input(format!("a worker ended early: {error}")))
}

fn wait(json: Json<'_>, server: &Server, passwords: Option<&Passwords>) -> Result<(), Failure> {
    let mut ends = vec![SIGTERM, SIGINT, SIGQUIT];
    // `nohup` ignores hangups; keep that.
    if passwords.is_some() || !is_ignored(SIGHUP) {
        ends.push(SIGHUP);
    }
    let mut signals = Signals::new(ends).map_err(Failure::input)?;
    let listening = format!("listening on {}\n", server.address());
    match json {
        Json::Stdout => eprint!("{listening}"),
        _ => output::print(&listening)?,
    }
    while !server.has_ended() {
        match (signals.pending().next(), passwords) {
            (Some(SIGHUP), Some(passwords)) => match passwords.reload() {
                Ok(()) => eprintln!("the passwords were read again"),
                Err(why) => eprintln!("the old passwords hold: {why}"),
            },
            (Some(_), _) => break,
            (None, _) => thread::sleep(LOOK),
        }
    }
    thread::spawn(move || {
        if signals.forever().next().is_some() {
            std::process::exit(1);
        }
    });
    Ok(())
}

fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

/// The file with the process ID, for as long as this lives.
struct PidFile(PathBuf);

impl PidFile {
    fn write(path: &Path) -> Result<Self, Failure> {
        let number = format!("{}\n", std::process::id());
        std::fs::write(path, number).map_err(|error| Failure::unwritable(path, &error))?;
        Ok(Self(path.to_owned()))
    }
}

impl Drop for PidFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}
