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
            ("measured", false),
            ("paired", true),
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

#[test]
fn a_function_returns_its_value_in_one_register_in_two_or_in_none() {
    each("result.c", true, |what, sample| {
        let code = crate::code_of(sample);
        let returns = |function, register| {
            let address = code.program().function_named(function).unwrap();
            code.program().returns(address, register)
        };
        for (function, expected) in [
            ("lose", [Some(false), Some(false)]),
            ("pass", [Some(true), Some(false)]),
            ("measure", [Some(false), Some(false)]),
            ("pair_up", [Some(true), Some(true)]),
            // Rust has two small values in two.
            ("shrink", [Some(true), None]),
            ("enlarge", [Some(false), Some(false)]),
            ("widen", [Some(true), Some(true)]),
        ] {
            let found = [returns(function, 0), returns(function, 1)];
            assert_eq!(found, expected, "{what}: {function}");
        }
    });
}
