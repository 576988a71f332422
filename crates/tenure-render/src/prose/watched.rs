//! What watching a program showed, how sure that is, and what it excludes, as prose.

use super::{counted, ratio, share, whole};
use tenure_model::{Coverage, Evidence, Observed, Watched};

/// What lowers the share that a line may cost unseen.
const WATCH_MORE: &str = "watch longer (--for), under load, or more often (--rate, --probes)";

/// What watching did, and what it cost.
pub(super) fn did(watched: &Watched) -> String {
    let unaddressed = watched.coverage.as_ref().map_or(0.0, |coverage| coverage.unaddressed);
    let lost = match unaddressed {
        0.0 => String::new(),
        lost => format!(" and {} without an address", share(lost)),
    };
    let costs = [watched.sample_us, watched.arm_us, watched.trap_us];
    let about = if costs.iter().all(|cost| *cost > 0.0) { "about" } else { "at least" };
    format!(
        "{}, {} of them with an address{lost}; {} by breakpoints, {}; watching cost the program {about} {} of its processor \
         time, and took {} of a CPU beside it",
        counted(watched.samples, "sample"),
        share(ratio(watched.attributed, watched.samples)),
        counted(watched.probes, "probe"),
        counted(watched.traps, "hit"),
        share(watched.overhead),
        share(watched.own),
    )
}

/// `12 to 31 % with 95 % confidence`.
pub(super) fn interval(evidence: &Evidence) -> String {
    let [low, high] = evidence.share.map(share);
    format!("{} to {high} with 95 % confidence", low.trim_end_matches(" %"))
}

/// What a finding rests on: `100 samples, 45 of 50 probes met another thread: 12 to 31 % with 95 % confidence`.
pub(crate) fn rests_on(observed: &Observed) -> Option<String> {
    let evidence = observed.evidence.as_ref()?;
    let &Evidence { samples, probes, met, .. } = evidence;
    let (samples, probes) = (counted(samples, "sample"), counted(probes, "probe"));
    Some(format!(
        "{samples}, {} of {probes} met another thread: {}",
        whole(met),
        interval(evidence)
    ))
}

/// How many lines are contended, and how many only may be.
pub(super) fn doubtful(sure: u64, doubtful: u64) -> String {
    let were_seen = if doubtful == 1 { "it was seen" } else { "they were seen" };
    match sure {
        0 => format!(
            "{} may be contended: {were_seen} too rarely to be sure.",
            counted(doubtful, "line")
        ),
        _ => format!(
            "{}, and {} that may be: {were_seen} too rarely to be sure.",
            counted(sure, "contended line"),
            whole(doubtful)
        ),
    }
}

/// What follows for the lines without a finding: a bound on what they cost, or that too little was seen to say, why, and what to
/// do. `has_split` where the report says how much of the time was the kernel's. `None` for reports of older versions.
pub(super) fn excluded(watched: &Watched, has_findings: bool, has_split: bool) -> Option<String> {
    let coverage = watched.coverage.as_ref()?;
    if coverage.is_too_little() {
        return Some(too_little(has_findings, &reasons(watched, coverage)));
    }
    let (none, none_costs) = match has_findings {
        true => ("", "No other line costs"),
        false => ("No contended cache line was found: ", "none costs"),
    };
    let most = share(coverage.excludes);
    let unseen = unseen(coverage, has_split).map(|unseen| format!(" {unseen}")).unwrap_or_default();
    let longer = match coverage.excludes > Coverage::WORTH_FINDING {
        true => format!(" To exclude more, {WATCH_MORE}."),
        false => String::new(),
    };
    Some(format!(
        "{none}{none_costs} more than {most} of the time that could be seen, with 95 % confidence.{longer}{unseen}"
    ))
}

/// Says that what was seen proves nothing, and why.
pub(super) fn too_little(has_findings: bool, reasons: &[String]) -> String {
    let of = if has_findings { "other cache lines are" } else { "a cache line is" };
    format!("Too little seen to say whether {of} contended. {}", reasons.join(" "))
}

/// `12 % of the time that it ran could not be seen: 9.0 % was in the kernel, and 3.0 % in samples without an address.`
fn unseen(coverage: &Coverage, has_split: bool) -> Option<String> {
    /// A smaller share is shown as 0.0 %.
    const MIN_SHARE: f64 = 0.0005;
    let unaddressed = (1.0 - coverage.kernel) * coverage.unaddressed;
    // A second share of the kernel's, of other time than the first, would only ask which is right.
    if has_split && unaddressed < MIN_SHARE {
        return (coverage.kernel >= MIN_SHARE)
            .then(|| "The kernel's lines are not seen.".to_owned());
    }
    let parts =
        [(coverage.kernel, "was in the kernel"), (unaddressed, "in samples without an address")];
    let parts = parts.iter().filter(|(part, _)| *part >= MIN_SHARE);
    let parts: Vec<_> = parts.map(|(part, what)| format!("{} {what}", share(*part))).collect();
    let all = share(coverage.unseen());
    (!parts.is_empty()).then(|| {
        format!("{all} of the time that it ran could not be seen: {}.", parts.join(", and "))
    })
}

/// Why too little was seen, and what to do about it: each a sentence.
fn reasons(watched: &Watched, coverage: &Coverage) -> Vec<String> {
    /// The kernel counts processor time in hundredths of a second.
    const MIN_CPU_SECONDS: f64 = 0.02;
    if coverage.cpu_seconds < MIN_CPU_SECONDS && watched.samples == 0 {
        return vec!["The program used less than 0.02 s of processor time: watch it for longer, or under load.".to_owned()];
    }
    let mut all = Vec::new();
    let is_unseen = coverage.unseen() > Coverage::MAX_UNSEEN;
    if is_unseen && coverage.kernel >= coverage.unaddressed {
        all.push(format!(
            "{} of the processor time was in the kernel, where `tenure watch` sees nothing: `perf top` as root shows what the \
             kernel does.",
            share(coverage.kernel)
        ));
    } else if is_unseen {
        all.push(format!(
            "{} of the samples lost the address that they accessed: `tenure run` counts every access.",
            share(coverage.unaddressed)
        ));
    }
    let is_of_others = !coverage.shared.is_empty();
    if coverage.excludes > Coverage::MAX_MISSED {
        let others = if is_of_others {
            " (probes cannot rule out a line in memory that other processes may use)"
        } else {
            ""
        };
        all.push(format!(
            "With {} and {}, a line may still cost up to {} of the time{others}: {WATCH_MORE}.",
            counted(watched.samples, "sample"),
            counted(watched.probes, "probe"),
            share(coverage.excludes)
        ));
    }
    all
}

/// Memory that other processes may write, too.
pub(super) fn shared(watched: &Watched) -> Option<String> {
    const MAX_NAMES: usize = 3;
    let shared = &watched.coverage.as_ref()?.shared;
    let names = match shared.len() {
        0 => return None,
        all if all <= MAX_NAMES => shared.join(", "),
        all => format!("{} and {} more", shared[..MAX_NAMES].join(", "), all - MAX_NAMES),
    };
    Some(format!(
        "Other processes may use memory that this one shares ({names}): what they do there was not seen."
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::TerminalExporter;
    use crate::{Exporter, fixtures};
    use tenure_model::Source;

    fn watched(coverage: Coverage, samples: u64, probes: u64) -> Watched {
        let Source::Run(run) = fixtures::watched().source else { panic!("a run") };
        Watched { samples, probes, coverage: Some(coverage), ..*run.watched.unwrap() }
    }

    fn seen() -> Coverage {
        Coverage {
            cpu_seconds: 4.0,
            kernel: 0.0,
            unaddressed: 0.0,
            excludes: 0.03,
            shared: Vec::new(),
        }
    }

    #[test]
    fn silence_comes_with_a_bound_and_with_what_could_not_be_seen() {
        for (coverage, expected) in [
            (
                seen(),
                "No contended cache line was found: none costs more than 3.0 % of the time that could be seen, with 95 % \
                 confidence.",
            ),
            (
                Coverage { kernel: 0.09, unaddressed: 0.0330, ..seen() },
                "No contended cache line was found: none costs more than 3.0 % of the time that could be seen, with 95 % \
                 confidence. 12 % of the time that it ran could not be seen: 9.0 % was in the kernel, and 3.0 % in samples without an \
                 address.",
            ),
        ] {
            assert_eq!(excluded(&watched(coverage, 400, 80), false, false).unwrap(), expected);
        }
    }

    #[test]
    fn too_little_seen_is_said_with_the_reason_and_what_to_do() {
        for (coverage, samples, probes, why) in [
            (
                Coverage { excludes: 0.8, ..seen() },
                2,
                0,
                "With 2 samples and 0 probes, a line may still cost up to 80 % of the time: watch longer",
            ),
            (Coverage { excludes: 1.0, ..seen() }, 219, 0, "With 219 samples and 0 probes"),
            (
                Coverage { kernel: 0.93, ..seen() },
                5,
                1,
                "93 % of the processor time was in the kernel, where `tenure watch` sees nothing",
            ),
            (
                Coverage { kernel: 0.3, unaddressed: 0.4, ..seen() },
                400,
                1,
                "`tenure run` counts every access",
            ),
            (
                Coverage { excludes: 0.9, shared: vec!["/dev/shm/a".to_owned()], ..seen() },
                400,
                100,
                "a line in memory that other processes may use",
            ),
            (
                Coverage { cpu_seconds: 0.0, excludes: 1.0, ..seen() },
                0,
                0,
                "The program used less than 0.02 s of processor time: watch it for longer, or under load.",
            ),
        ] {
            let said = excluded(&watched(coverage, samples, probes), false, false).unwrap();
            assert!(
                said.starts_with("Too little seen to say whether a cache line is contended. "),
                "{said}"
            );
            assert!(said.contains(why), "{said}");
        }
    }

    #[test]
    fn lines_that_rest_on_a_sample_are_no_facts() {
        assert_eq!(
            doubtful(0, 4),
            "4 lines may be contended: they were seen too rarely to be sure."
        );
        assert_eq!(
            doubtful(1, 1),
            "1 contended line, and 1 that may be: it was seen too rarely to be sure."
        );
        let text = TerminalExporter::new(tenure_report::terminal::Style::PLAIN)
            .export(&fixtures::watched());
        assert!(text.contains("confidence low"), "{text}");
        assert!(text.contains("1 sample, 3 of 4 probes met another thread"), "{text}");
    }

    #[test]
    fn memory_that_other_processes_map_is_named() {
        let with = |names: &[&str]| {
            let shared = names.iter().map(|it| (*it).to_owned()).collect();
            shared_of(Coverage { shared, ..seen() })
        };
        fn shared_of(coverage: Coverage) -> Option<String> {
            shared(&watched(coverage, 1, 1))
        }
        assert_eq!(with(&[]), None);
        assert!(with(&["/dev/shm/a"]).unwrap().contains("(/dev/shm/a)"));
        assert!(with(&["/a", "/b", "/c", "/d"]).unwrap().contains("(/a, /b, /c and 1 more)"));
    }
}
