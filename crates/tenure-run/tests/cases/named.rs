//! What the types of shared memory are called, where other types are at hand that would fit as well.

use tenure_model::{Finding, Sharing};

use super::{TRIES, names, report, run, sources, target};

#[test]
fn memory_has_the_type_that_the_program_reaches_it_by() {
    let program = target().join("named");
    let (source, out) = (sources().join("named.cpp"), program.to_str().unwrap());
    for level in ["-O0", "-O2"] {
        let source = source.to_str().unwrap();
        run(true, &["g++", "-g", level, "-pthread", source, "-o", out]);
        for (case, type_name, words, stride) in [
            ("lambda", "Stats", &["rx", "tx"][..], None),
            ("shards", "Shard", &["usage", "mutex.__data.__lock"], Some(72)),
            ("bytes", "pool", &[], Some(1)),
            ("aligned", "store", &["lock", "table[0]"], None),
        ] {
            let is_it = |finding: &Finding| {
                let of = match finding.sharing {
                    Sharing::Elements { stride, .. } => Some(stride),
                    _ => None,
                };
                let names = names(finding);
                names.contains(type_name)
                    && of == stride
                    && words.iter().all(|word| names.contains(word))
            };
            let mut findings = Vec::new();
            let is_found = (0..TRIES).any(|_| {
                findings = report(out, case).findings;
                findings.first().is_some_and(is_it)
            });
            assert!(is_found, "{case} {level}: {findings:#?}");
        }
    }
}
