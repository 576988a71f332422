//! Core-to-core matrices: one way of a ball that two cores play by compare-exchange.
//!
//! Both sides spin by compare-exchange, so whoever waits for the ball has asked for its line already.
//! A machine's latencies are those of a line that nobody asks for; so they are not simply
//! returned.

use super::super::Stage;
use super::Figure;

const VIENNOT: &str = "Viennot et al., core-to-core-latency";
const NOTE: &str = "the simulated loop asks again at once after each failure, so that its request waits when the \
                    line is free; a real one has branches to go through first";

pub(super) fn all() -> impl Iterator<Item = Figure> {
    type Row = (&'static str, &'static str, usize, [f64; 2]);
    const ROWS: [Row; 6] = [
        ("xeon-2s-112", "one way of a ping-pong, same socket", 1, [44.0, 51.0]),
        ("xeon-2s-112", "one way of a ping-pong, other socket", 28, [108.0, 136.0]),
        ("epyc-2s-256", "one way of a ping-pong, same complex", 1, [23.0, 23.0]),
        ("epyc-2s-256", "one way of a ping-pong, same socket", 8, [107.0, 107.0]),
        ("epyc-2s-256", "one way of a ping-pong, other socket", 64, [197.0, 197.0]),
        ("graviton-64", "one way of a ping-pong", 1, [47.0, 47.0]),
    ];
    ROWS.into_iter().map(|(machine, what, other, published)| Figure {
        family: "core to core",
        what,
        machine,
        // The two that play are the first and the last.
        cpus: other + 1,
        unit: "ns",
        published,
        source: VIENNOT,
        simulate: Stage::one_way_ns,
        fitted: false,
        note: NOTE,
    })
}
