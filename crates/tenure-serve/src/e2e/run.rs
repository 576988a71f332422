//! A run: all servers of a scenario at once, each driven in turn.

use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};

use tenure_report::stats::{self, Estimate};
use tenure_report::words::counted;
use tenure_report::{Progress, affinity, machine};

use super::program::Program;
use super::result::{self, Latency, Ratios, Report, Row, SCHEMA, Settings};
use super::scenario::{self, Load, Scenario};
use super::{memory, verdicts};
use crate::load::settings::{Generator, Length, Settings as LoadSettings};
use crate::load::{self, Outcome};
use crate::memcached::{CountKind, LineKind};
use crate::process::allow_connections;

/// What to measure.
#[derive(Debug, Clone)]
pub struct Request {
    /// Names of scenarios, or `e2e` for all.
    pub names: Vec<String>,
    /// Threads of each server and of the load generator; by default all CPUs.
    pub threads: Option<usize>,
    /// Seconds of a server's round.
    pub seconds: Option<f64>,
    /// Only checks that everything works.
    pub quick: bool,
    /// The seed of the order.
    pub seed: Option<u64>,
    /// The command `tenure`, which serves.
    pub tenure: PathBuf,
    /// Makes the load on sockets: `wrk` for HTTP, memtier for memcached, or `tenure load`.
    pub generator: Generator,
}

const SECONDS: f64 = 1.0;
const ROUNDS: usize = 12;
/// More than the servers of a scenario have together.
const MOST_CONNECTIONS: usize = 4096;
const QUICK_SECONDS: f64 = 0.1;
const QUICK_ROUNDS: usize = 2;

#[derive(Clone, Copy)]
struct Sample {
    rate: f64,
    cpu: f64,
    latency: Option<Latency>,
    errors: u64,
}

/// Measures what `request` asks for.
///
/// # Errors
///
/// In one line: an unknown name, a server that does not start, or a load that cannot be made.
pub fn run(request: &Request, progress: &dyn Progress) -> Result<Report, String> {
    let (began, clock) = (SystemTime::now(), Instant::now());
    let chosen = chosen(&request.names)?;
    let is_of_use = |one: &Scenario| generator(one.load, request.generator) == request.generator;
    if !chosen.iter().any(is_of_use) {
        return Err("--with: that generator makes no load of what was named; wrk makes that of \
                    e2e/http-close, memtier that of memcached"
            .to_owned());
    }
    let threads = request.threads.unwrap_or_else(|| affinity::cpus().len()).max(1);
    let (seconds, rounds) =
        if request.quick { (QUICK_SECONDS, QUICK_ROUNDS) } else { (SECONDS, ROUNDS) };
    let seed = request.seed.unwrap_or_else(|| fastrand::u64(..));
    let settings = Settings {
        quick: request.quick,
        seconds: request.seconds.unwrap_or(seconds),
        rounds,
        threads,
        seed,
        generator: match request.generator {
            Generator::Own => "tenure",
            Generator::Memtier => "memtier",
            Generator::Wrk => "wrk",
        }
        .to_owned(),
    };
    // Held connections and the load's; servers inherit the limit. Where it is not allowed, connections fail and say so.
    let _ = allow_connections(MOST_CONNECTIONS);
    let mut random = fastrand::Rng::with_seed(seed);
    let cells = |one: &Scenario| match one.load {
        Load::Memory => memory::CELLS.len(),
        _ => one.cells.len(),
    };
    let steps = chosen.iter().map(cells).sum::<usize>() * rounds;
    progress.begin("measuring", steps as u64);
    let mut missing = Vec::new();
    let mut scenarios = Vec::new();
    for one in &chosen {
        progress.at(one.id, &counted(threads, "thread"));
        let mut driven = match one.load {
            Load::Memory => players(&settings)?,
            _ => servers(one, request, &settings, &mut missing)?,
        };
        for _ in 0..rounds {
            random.shuffle(&mut driven);
            for cell in &mut driven {
                let sample =
                    (cell.round)().map_err(|why| format!("{}: {}: {why}", one.id, cell.name))?;
                cell.samples.push(sample);
                progress.advance(1);
            }
        }
        scenarios.push(measured(one, driven));
    }
    progress.end();
    Ok(Report {
        schema: SCHEMA.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        started: humantime::format_rfc3339_seconds(began).to_string(),
        seconds: clock.elapsed().as_secs_f64(),
        settings,
        machine: machine::describe(),
        // A quick run has too few figures.
        verdicts: if request.quick { Vec::new() } else { verdicts::judge(&scenarios) },
        scenarios,
        missing,
    })
}

fn chosen(names: &[String]) -> Result<Vec<Scenario>, String> {
    let mut all = Vec::from(scenario::ALL);
    for name in names {
        if name != scenario::GROUP && !all.iter().any(|one| one.id == name) {
            let known: Vec<_> = all.iter().map(|one| one.id).collect();
            return Err(format!("there is no scenario '{name}'; there are {}", known.join(", ")));
        }
    }
    if !names.iter().any(|name| name == scenario::GROUP) {
        all.retain(|one| names.iter().any(|name| name == one.id));
    }
    Ok(all)
}

struct Driven {
    /// The place in the report.
    at: usize,
    name: &'static str,
    program: String,
    is_rival: bool,
    /// The process, and connections that are only held.
    server: Option<(Program, Vec<TcpStream>)>,
    round: Box<dyn Fn() -> Result<Sample, String>>,
    samples: Vec<Sample>,
}

fn servers(
    scenario: &Scenario,
    request: &Request,
    settings: &Settings,
    missing: &mut Vec<String>,
) -> Result<Vec<Driven>, String> {
    let mut driven = Vec::new();
    for (at, (name, server)) in scenario.cells.iter().enumerate() {
        let program = match server.start(&request.tenure, settings.threads) {
            Ok(program) => program,
            Err(why) if server.is_rival() => {
                missing.push(format!("{}: {name}: {why}", scenario.id));
                continue;
            }
            Err(why) => return Err(why),
        };
        let address = program.address;
        let held = if let Load::HttpClose { held } = scenario.load { held } else { 0 };
        let held: std::io::Result<Vec<_>> = (0..held).map(|_| half_a_request(address)).collect();
        let held = held.map_err(|error| format!("cannot hold connections: {error}"))?;
        let plan = |generator| {
            let settings = load_settings(settings, &program, generator);
            scenario::plan(scenario.load, address, settings)
        };
        if let Some(load::Plan::Memcached(plan)) = plan(Generator::Own) {
            let settings = LoadSettings {
                length: Length::Requests(1000),
                warmup: Duration::ZERO,
                ..plan.settings
            };
            drive(&load::memcached::Plan { settings, preload: true, ..plan }.into())
                .map_err(|why| format!("{}: {name}: {why}", scenario.id))?;
        }
        let plan = plan(generator(scenario.load, request.generator));
        let plan = plan.expect("a scenario with servers has a load");
        driven.push(Driven {
            at,
            name,
            program: program.name.clone(),
            is_rival: server.is_rival(),
            server: Some((program, held)),
            round: Box::new(move || Ok(sample(&drive(&plan)?))),
            samples: Vec::new(),
        });
    }
    Ok(driven)
}

/// Half a request takes a pair of buffers; an idle connection has none.
fn half_a_request(server: SocketAddr) -> std::io::Result<TcpStream> {
    let mut connection = TcpStream::connect(server)?;
    connection.write_all(b"GET / HTTP/1.1\r\n")?;
    Ok(connection)
}

fn players(settings: &Settings) -> Result<Vec<Driven>, String> {
    let (threads, seconds) = (settings.threads, settings.seconds / 2.0);
    let driven = |(at, (name, count, line)): (usize, (&'static str, CountKind, LineKind))| {
        let play = memory::player(count, line, settings.seed)?;
        let round = move || {
            let (requests, time) = play(threads, seconds)?;
            let (requests, seconds) = (requests as f64, time.as_secs_f64());
            // Each thread was always on a CPU, or waited for one.
            let cpu = seconds * 1e9 * threads as f64 / requests;
            Ok(Sample { rate: requests / seconds, cpu, latency: None, errors: 0 })
        };
        let program = format!("tenure {}", env!("CARGO_PKG_VERSION"));
        let (round, samples) = (Box::new(round), Vec::new());
        Ok(Driven { at, name, program, is_rival: false, server: None, round, samples })
    };
    memory::CELLS.into_iter().enumerate().map(driven).collect()
}

/// The generator that was asked for, where it speaks the protocol.
fn generator(load: Load, asked: Generator) -> Generator {
    match (asked, load) {
        (Generator::Memtier, Load::Memcached { .. }) | (Generator::Wrk, Load::HttpClose { .. }) => {
            asked
        }
        _ => Generator::Own,
    }
}

fn load_settings(settings: &Settings, program: &Program, generator: Generator) -> LoadSettings {
    LoadSettings {
        threads: settings.threads,
        length: Length::Time(Duration::from_secs_f64(settings.seconds)),
        warmup: Duration::from_secs_f64(settings.seconds / 8.0),
        pids: vec![program.pid()],
        generator,
        ..LoadSettings::new(program.address)
    }
}

fn drive(plan: &load::Plan) -> Result<Outcome, String> {
    /// A short one may be over, on a busy machine, before the server had its turn.
    const TRIES: usize = 5;
    let mut tries = 1;
    loop {
        let outcome = load::run(plan, &()).map_err(|error| error.to_string())?;
        let why = match outcome.errors.first() {
            _ if outcome.passed => return Ok(outcome),
            Some(errors) => &errors.first,
            None if tries < TRIES => {
                tries += 1;
                continue;
            }
            None => "no request was answered in the time measured; give more with --seconds",
        };
        return Err(format!("the server at {} failed: {why}", outcome.request.address));
    }
}

fn sample(outcome: &Outcome) -> Sample {
    Sample {
        rate: outcome.ops_per_second,
        cpu: outcome.server_cpu.map_or(f64::NAN, |cpu| cpu.ns_per_op),
        latency: outcome.latency.map(
            |load::outcome::Latency { p50_ns, p99_ns, p999_ns, .. }| Latency {
                p50_ns,
                p99_ns,
                p999_ns,
            },
        ),
        errors: outcome.errors.iter().map(|errors| errors.count).sum(),
    }
}

fn measured(scenario: &Scenario, mut driven: Vec<Driven>) -> result::Scenario {
    driven.sort_by_key(|one| one.at);
    let mut acquires = Vec::new();
    for one in &mut driven {
        acquires.push(one.server.take().and_then(|(program, held)| {
            drop(held);
            program.stop()
        }));
    }
    let baseline = driven.iter().find(|one| one.name == scenario.baseline);
    let rival = driven.iter().find(|one| one.is_rival);
    let rows = driven.iter().zip(acquires).map(|(one, acquires)| {
        let other = |other: Option<&Driven>| {
            other
                .filter(|other| other.at != one.at)
                .map(|other| ratios(&one.samples, &other.samples))
        };
        Row { acquires, ..row(one.name, &one.program, &one.samples, other(baseline), other(rival)) }
    });
    result::Scenario {
        id: scenario.id.to_owned(),
        title: scenario.title.to_owned(),
        about: scenario.about.to_owned(),
        sockets: !matches!(scenario.load, Load::Memory),
        baseline: scenario.baseline.to_owned(),
        rival: rival.map(|one| one.name.to_owned()),
        rows: rows.collect(),
    }
}

fn row(
    name: &str,
    program: &str,
    samples: &[Sample],
    to_baseline: Option<Ratios>,
    to_rival: Option<Ratios>,
) -> Row {
    let of = |figure: &dyn Fn(&Sample) -> f64| estimate(samples.iter().map(figure));
    let middle = |figure: &dyn Fn(&Latency) -> Option<f64>| {
        let values: Option<Vec<f64>> =
            samples.iter().map(|sample| figure(sample.latency.as_ref()?)).collect();
        stats::median(&values?)
    };
    let latency = || {
        Some(Latency {
            p50_ns: middle(&|it| Some(it.p50_ns))?,
            p99_ns: middle(&|it| Some(it.p99_ns))?,
            p999_ns: middle(&|it| it.p999_ns),
        })
    };
    Row {
        cell: name.to_owned(),
        program: program.to_owned(),
        ops_per_second: of(&|sample| sample.rate),
        cpu_ns_per_op: of(&|sample| sample.cpu),
        latency: latency(),
        to_baseline,
        to_rival,
        acquires: None,
        errors: samples.iter().map(|sample| sample.errors).sum(),
    }
}

/// Round by round.
fn ratios(samples: &[Sample], others: &[Sample]) -> Ratios {
    let pairs = || samples.iter().zip(others);
    let tails: Option<Vec<f64>> =
        pairs().map(|(one, other)| Some(one.latency?.p99_ns / other.latency?.p99_ns)).collect();
    Ratios {
        rate: estimate(pairs().map(|(one, other)| one.rate / other.rate)),
        cpu: estimate(pairs().map(|(one, other)| one.cpu / other.cpu)),
        p99: tails.map(|tails| estimate(tails.into_iter())),
    }
}

fn estimate(values: impl Iterator<Item = f64>) -> Estimate {
    let values: Vec<f64> = values.collect();
    stats::estimate(&values).unwrap_or(Estimate { median: f64::NAN, low: f64::NAN, high: f64::NAN })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(rate: f64, cpu: f64) -> Sample {
        let latency = Latency { p50_ns: 1.0, p99_ns: cpu, p999_ns: None };
        Sample { rate, cpu, latency: Some(latency), errors: 1 }
    }

    #[test]
    fn ratios_are_of_the_same_round_and_not_of_medians() {
        // Both halve in each round.
        let ours: Vec<_> = (0..8).map(|round| sample(300.0 / 2_f64.powi(round), 1.0)).collect();
        let others: Vec<_> = (0..8).map(|round| sample(200.0 / 2_f64.powi(round), 2.0)).collect();
        let row = row("ours", "program", &ours, Some(ratios(&ours, &others)), None);
        let ratios = row.to_baseline.unwrap();
        assert_eq!((ratios.rate.low, ratios.rate.high), (1.5, 1.5));
        assert_eq!((ratios.cpu.median, ratios.p99.unwrap().median), (0.5, 0.5));
        assert_eq!((row.errors, row.to_rival), (8, None));
        assert_eq!(row.latency.unwrap().p999_ns, None);
    }

    #[test]
    fn names_are_scenarios_or_all_of_them() {
        let count = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
            chosen(&names).map(|chosen| chosen.len())
        };
        assert_eq!(count(&["e2e"]), Ok(5));
        assert_eq!(count(&["e2e/memory", "e2e/memcached"]), Ok(2));
        assert!(count(&["e2e/nope"]).unwrap_err().starts_with("there is no scenario 'e2e/nope'"));
    }
}
