use super::{AtomicKind, MAX_CPUS, Machine, TimeRange, ps};
use crate::error::SimulationError;

/// Longer than any simulation, and short enough that sums do not overflow.
const MAX_TIME_NS: f64 = 1e9;

const TIME: &str = "above 0 and at most a second";

impl Machine {
    /// Checks that the machine can be simulated.
    ///
    /// # Errors
    ///
    /// Names the figure that is wrong.
    pub fn check(&self) -> Result<(), SimulationError> {
        let wrong = |what: String| Err(SimulationError::Machine { name: self.name.clone(), what });
        let t = &self.topology;
        for (name, count) in
            [("sockets", t.sockets), ("clusters", t.clusters), ("cores", t.cores), ("smt", t.smt)]
        {
            if count == 0 || count > MAX_CPUS {
                return wrong(format!("topology.{name} is {count}; it can be 1 to {MAX_CPUS}"));
            }
        }
        if t.cpus() > MAX_CPUS {
            return wrong(format!("it has {} CPUs; at most {MAX_CPUS} can be simulated", t.cpus()));
        }
        let l = &self.latency;
        for (name, span, needed) in [
            ("sibling", l.sibling, t.smt > 1),
            ("socket", l.socket, t.clusters > 1),
            ("remote", l.remote, t.sockets > 1),
        ] {
            if needed && span.is_none() {
                return wrong(format!("latency.{name} is missing, and its topology needs it"));
            }
        }
        let spans = [
            ("sibling", l.sibling),
            ("cluster", Some(l.cluster)),
            ("socket", l.socket),
            ("remote", l.remote),
            ("memory", Some(l.memory)),
        ];
        for (name, span) in spans {
            let Some(span) = span else { continue };
            if !is_time(span.low()) || !is_time(span.high()) || span.low() > span.high() {
                let span = shown(span);
                return wrong(format!(
                    "latency.{name} is {span}; it has to be {TIME}, the lower end first"
                ));
            }
        }
        let (a, c, k) = (&self.atomic, &self.contention, &self.kernel);
        let figures = [
            ("latency.hit", l.hit, is_time(l.hit), TIME),
            ("atomic.rmw", a.rmw, is_time(a.rmw), TIME),
            (
                "contention.handoff",
                c.handoff,
                (0.0..=1.0).contains(&c.handoff),
                "a share from 0 to 1",
            ),
        ];
        let times = [
            ("contention.residency", c.residency),
            ("contention.directory", c.directory),
            ("contention.pause", c.pause),
            ("kernel.system_call", k.system_call),
            ("kernel.wake", k.wake),
            ("kernel.wake_send", k.wake_send),
            ("kernel.interrupt_send", k.interrupt_send),
            ("kernel.interrupt_latency", k.interrupt_latency),
            ("kernel.interrupt_handler", k.interrupt_handler),
        ];
        let times = times
            .map(|(name, ns)| (name, ns, (0.0..=MAX_TIME_NS).contains(&ns), "from 0 to a second"));
        for (name, value, is_sound, range) in figures.into_iter().chain(times) {
            if !is_sound {
                return wrong(format!("{name} is {}; it has to be {range}", number(value)));
            }
        }
        match (a.kind, a.home) {
            (AtomicKind::Far, Some(home)) if !is_time(home) => {
                wrong(format!("atomic.home is {}; it has to be above 0", number(home)))
            }
            (AtomicKind::Far, None) => {
                wrong("atomic.home is missing, and far atomics need it".to_owned())
            }
            (AtomicKind::Reserved, _) if 2 * ps(c.residency) <= ps(a.rmw) => wrong(format!(
                "twice contention.residency ({}) has to exceed atomic.rmw ({}), or no \
                     store-conditional ever succeeds",
                c.residency, a.rmw
            )),
            _ => Ok(()),
        }
    }
}

fn is_time(ns: f64) -> bool {
    (1e-3..=MAX_TIME_NS).contains(&ns)
}

fn shown(span: TimeRange) -> String {
    match span {
        TimeRange::Fixed(ns) => number(ns),
        TimeRange::Range([low, high]) => format!("[{}, {}]", number(low), number(high)),
    }
}

/// 1e300 written out does not fit a line.
fn number(value: f64) -> String {
    if value.is_finite() && value.abs() >= 1e12 { format!("{value:e}") } else { value.to_string() }
}
