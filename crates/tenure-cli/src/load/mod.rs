mod args;

use std::time::Duration;

use tenure_report::json;
use tenure_serve::load::memcached::Keys;
use tenure_serve::load::settings::{self, Generator, Length, Settings};
use tenure_serve::load::{self, Plan, http, memcached, table};

use crate::failure::Failure;
use crate::output::{self, Json};
use crate::progress::Bar;
pub(crate) use args::Load;
use args::{LoadCommon, LoadHttp, LoadMemcached, LoadProtocol};

pub(crate) fn run(arguments: &Load) -> Result<(), Failure> {
    let (common, plan): (_, Plan) = match &arguments.protocol {
        LoadProtocol::Memcached(arguments) => (&arguments.common, memcached(arguments)?.into()),
        LoadProtocol::Http(arguments) => (&arguments.common, http(arguments)?.into()),
    };
    let json = Json::of(common.json.as_ref());
    output::check_all(json, None)?;
    let outcome = load::run(&plan, &Bar::new()).map_err(Failure::input)?;

    let text = |style| table::render(&outcome, style);
    output::deliver(json, &json::render(&outcome), None, String::new, text)?;
    if outcome.passed { Ok(()) } else { Err(Failure::Check) }
}

fn memcached(arguments: &LoadMemcached) -> Result<memcached::Plan, Failure> {
    let (sets, gets) = arguments.ratio;
    Ok(memcached::Plan {
        settings: settings(&arguments.common)?,
        sets,
        gets,
        keys: arguments.keys,
        prefix: arguments.prefix.clone(),
        value: arguments.value.clone(),
        choice: match arguments.zipf {
            Some(exponent) => Keys::Zipf(exponent),
            None if arguments.hot => Keys::Hot,
            None => Keys::Uniform,
        },
        preload: !arguments.no_preload,
    })
}

fn http(arguments: &LoadHttp) -> Result<http::Plan, Failure> {
    Ok(http::Plan {
        settings: settings(&arguments.common)?,
        path: arguments.path.clone(),
        host: arguments.host.clone(),
        close: arguments.close,
    })
}

fn settings(arguments: &LoadCommon) -> Result<Settings, Failure> {
    let target = settings::resolve(&arguments.address).map_err(Failure::input)?;
    let usual = Settings::new(target);
    Ok(Settings {
        target,
        threads: arguments.threads,
        clients: arguments.clients,
        pipeline: arguments.pipeline,
        rate: arguments.rate,
        length: match (arguments.requests, arguments.seconds) {
            (Some(count), _) => Length::Requests(count),
            (None, Some(seconds)) => Length::Time(duration(seconds)?),
            (None, None) => usual.length,
        },
        warmup: duration(arguments.warmup)?,
        timeout: duration(arguments.timeout)?,
        pids: arguments.pids.clone(),
        generator: generator(arguments.generator.as_deref()),
    })
}

pub(crate) fn generator(name: Option<&str>) -> Generator {
    match name {
        None => Generator::Own,
        Some("wrk") => Generator::Wrk,
        Some(_) => Generator::Memtier,
    }
}

/// A day: longer ones would overflow arithmetic.
const LONGEST: f64 = 86_400.0;

fn duration(seconds: f64) -> Result<Duration, Failure> {
    if seconds <= LONGEST {
        return Ok(Duration::from_secs_f64(seconds));
    }
    Err(Failure::input(format!("{seconds} seconds are more than a day; give fewer")))
}
