use super::compile::{each, numbers};

#[test]
fn code_behind_a_call_uses_the_result_or_does_not() {
    each("result.c", true, |what, sample| {
        let (code, lines) = (crate::code_of(sample), sample.run());
        for (name, expected) in [
            ("lost", false),
            ("ends", false),
            ("returned", true),
            ("compared", true),
            ("stored", true),
        ] {
            let address = numbers(&lines, "code", name)[0];
            assert_eq!(code.uses_result(address), Some(expected), "{what}: {name}");
        }
        assert_eq!(code.uses_result(0), None, "{what}");
    });
    // Without debugging information, functions do not say whether they return anything. Those that were not optimised
    // store it first.
    each("result.c", false, |what, sample| {
        let (code, lines) = (crate::code_of(sample), sample.run());
        let uses = |name| code.uses_result(numbers(&lines, "code", name)[0]);
        assert_eq!((uses("lost"), uses("stored")), (Some(false), Some(true)), "{what}");
        let returned = if what.contains("-O0") { Some(true) } else { None };
        assert_eq!(uses("returned"), returned, "{what}");
    });
}
