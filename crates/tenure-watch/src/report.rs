//! The report of what was watched.

use nix::sys::resource::UsageWho;
use tenure_analyze::{Analysis, Programs};
use tenure_model::{Run, Source};

use crate::WatchOutcome;
use crate::sys::process::own_time;

/// What was found, the worst first. What the repairs of the first `predicted` findings would give is left to predict. `programs`
/// keeps what was read of files from one report to the next.
#[must_use]
pub fn report(
    watched: &WatchOutcome,
    programs: &Programs,
    line_bytes: u32,
    predicted: usize,
) -> Analysis {
    let own_time = || own_time(UsageWho::RUSAGE_SELF);
    let before = own_time();
    let recording = &watched.recording;
    let waits = recording.processes.first().and_then(|process| process.waits.as_ref());
    let run = Run {
        // A part of a CPU is one that threads share.
        cpus: waits.map(|waits| waits.cpus.ceil() as u64),
        missing: missing(watched),
        watched: Some(Box::new(tenure_model::Watched {
            samples: watched.counts.samples,
            attributed: watched.counts.attributed,
            probes: watched.counts.probes,
            traps: watched.counts.traps,
            overhead: overhead(watched),
            sample_us: watched.cost.sample_s * 1e6,
            arm_us: watched.cost.arm_s * 1e6,
            trap_us: watched.cost.trap_s * 1e6,
            own: watched.own.as_secs_f64() / recording.seconds.max(1e-3),
            coverage: Some(watched.coverage.clone()),
        })),
        ..recording.head(&watched.name)
    };
    // The program may be watched on.
    let recording = recording.clone();
    let mut found = tenure_analyze::report(recording, programs, run, line_bytes, predicted);
    // Names and kinds are a part of what watching takes.
    if let Source::Run(Run { watched: Some(head), seconds, .. }) = &mut found.report.source {
        head.own += own_time().saturating_sub(before).as_secs_f64() / seconds.max(1e-3);
    }
    found
}

/// The part of the program's processor time that watching took.
fn overhead(watched: &WatchOutcome) -> f64 {
    let WatchOutcome { counts, cost, .. } = watched;
    let took = counts.samples as f64 * cost.sample_s
        + counts.armed as f64 * cost.arm_s
        + counts.traps as f64 * cost.trap_s;
    took / watched.recording.cpu_seconds.max(1e-3)
}

/// What was not seen, and why: each a sentence.
fn missing(watched: &WatchOutcome) -> Vec<String> {
    let mut all = Vec::new();
    let counts = &watched.counts;
    if watched.is_traced {
        all.push(
            "The kernel refuses perf events here: ptrace took the samples and set the breakpoints."
                .to_owned(),
        );
    }
    if counts.lost > 0 {
        all.push(format!("{} samples were lost: their buffers were full.", counts.lost));
    }
    if counts.held > counts.probes {
        all.push(
            "Probes were put off, to keep within their share of the program's processor time."
                .to_owned(),
        );
    }
    if counts.left_out > 0 {
        all.push(format!(
            "{} threads were not sampled at first, for lack of file descriptors (raise `ulimit -n`) or of time. Running threads \
             take over the samplers of sleeping ones.",
            counts.left_out
        ));
    }
    if counts.unarmed * 2 > counts.probes {
        all.push(format!(
            "No breakpoint could be set in {} of {} probes: a debugger may have them.",
            counts.unarmed, counts.probes
        ));
    }
    if counts.foreign > 0 {
        all.push(
            "The program has started others, which ran too: watch those with --pid.".to_owned(),
        );
    }
    if counts.kept > 0 {
        all.push(format!(
            "This virtual machine lost the reason of {} traps; `tenure` kept the signals from the program.",
            counts.kept
        ));
    }
    all
}
