//! x
use tenure_bench::run::*;
struct P;
impl Progress for P {
    fn begin(&mut self, _: u64) {}
    fn step(&mut self, _: &str, _: usize, _: u64) {}
    fn end(&mut self) {}
}
fn main() {
    let r = run(
        &Request {
            groups: vec![],
            threads: None,
            seconds: std::env::args().nth(1).map(|s| s.parse().unwrap()),
            quick: false,
            seed: None,
        },
        &mut P,
    )
    .unwrap();
    for g in &r.groups {
        for s in &g.scenarios {
            for p in &s.points {
                println!("{} threads={} over={}", s.id, p.threads, p.oversubscribed);
                for row in &p.rows {
                    let f = |e: Option<tenure_bench::result::Estimate>| {
                        e.map_or(String::new(), |e| {
                            format!("{:.3} [{:.3},{:.3}]", e.median, e.low, e.high)
                        })
                    };
                    println!(
                        "  {:26} {:8.2} [{:8.2},{:8.2}] {:8.2} Mops  retries {:?}  base {}  limit {}  slices {} dropped {}",
                        row.variant,
                        row.ns_per_op.median,
                        row.ns_per_op.low,
                        row.ns_per_op.high,
                        row.mops,
                        row.retries_per_op,
                        f(row.to_baseline),
                        f(row.to_limit),
                        row.slices,
                        row.dropped
                    );
                }
            }
        }
    }
    for v in &r.verdicts {
        println!("{:?}: {} — {}", v.outcome, v.claim, v.detail);
    }
    println!("took {}", r.seconds);
}
