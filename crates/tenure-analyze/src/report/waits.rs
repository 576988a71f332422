//! Where the time went: what threads slept for, by the names of words and code.

use tenure_model::recording::{Process, WaitReason};
use tenure_model::{Code, Run, TimeCause, TimeDetail, TimeSplit, short_place};

use super::FoundLine;
use crate::naming::names::ProcessNames;
use crate::naming::threads::Groups;
use crate::time::{self, Running};

/// Where the time of a watched process went; `None` of any other one.
pub(super) fn time(
    process: &Process,
    names: &ProcessNames<'_>,
    groups: &Groups<'_>,
    found: &[FoundLine],
    run: &Run,
) -> Option<TimeSplit> {
    let (waits, watched) = (process.waits.as_ref()?, run.watched.as_ref()?);
    let mut lines = [0.0; 3];
    for observed in found.iter().filter_map(|found| found.finding.observed.as_ref()) {
        let (Some(cost), Some(evidence)) = (observed.cost, observed.evidence) else { continue };
        let [least, most] = evidence.share;
        lines.iter_mut().zip([cost, least, most]).for_each(|(sum, part)| *sum += part);
    }
    let coverage = watched.coverage.as_ref()?;
    let code = &|address| names.code(address);
    let (seconds, samples) = (run.seconds, watched.samples);
    let running = Running { seconds, coverage, samples, lines, code };
    let detail = |reason: &WaitReason| {
        let finding = reason.word.and_then(|word| {
            let is_on = |line: &u64| (*line..*line + u64::from(process.line_bytes)).contains(&word);
            found.iter().find(|found| found.lines.iter().any(is_on))
        });
        TimeDetail {
            name: name(reason, names, finding),
            share: reason.cpus / waits.cpus,
            code: reason.code.and_then(|code| names.code(code)),
            caller: None,
            finding: finding.map(|found| found.finding.rank),
            holder: reason.holder.map(|holder| self::holder(reason, groups.name(holder), names)),
        }
    };
    Some(time::split(waits, &running, detail))
}

/// `a thread worker, in Pool::take() (pool.rs:80)`.
fn holder(reason: &WaitReason, thread: &str, names: &ProcessNames<'_>) -> String {
    match reason.holder_code.and_then(|code| names.code(code)) {
        Some(Code { function, line: Some(line), .. }) => {
            format!("thread `{thread}`, in {function}() ({})", short_place(&line))
        }
        Some(code) => format!("thread `{thread}`, in {}()", code.function),
        None => format!("thread `{thread}`"),
    }
}

/// What a thread waits for: a variable, what a finding is about, or the system call.
fn name(reason: &WaitReason, names: &ProcessNames<'_>, finding: Option<&FoundLine>) -> String {
    let variable = || {
        let (program, object, inside) = names.variable(reason.word?)?;
        let member = program.program().member(&object, inside - object.address, 4).path;
        // The members of glibc's own locks say nothing.
        let member = member.split("__").next()?.trim_end_matches('.').to_owned();
        let variable = object.variable?;
        Some(match &*member {
            "" => variable,
            member if member.starts_with(['[', '+']) => format!("{variable}{member}"),
            member => format!("{variable}.{member}"),
        })
    };
    let unnamed = || match reason.cause {
        TimeCause::Lock => "a lock".to_owned(),
        TimeCause::OtherThreads => "another thread".to_owned(),
        _ => reason.call.clone(),
    };
    finding.map(|found| found.finding.title()).or_else(variable).unwrap_or_else(unnamed)
}
