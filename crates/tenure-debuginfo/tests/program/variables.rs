use tenure_debuginfo::program::{ObjectMember, Program, TypeEvidence};

use super::compile::{Sample, each, numbers};

fn at(program: &Program, address: u64, size: u64) -> (String, ObjectMember) {
    let object = program.variable(address).unwrap();
    let place = program.member(&object, address - object.address, size);
    (object.variable.unwrap(), ObjectMember { declaring: None, ..place })
}

fn place(path: &str, type_name: &str, element: Option<u64>) -> ObjectMember {
    let (path, type_name) = (path.to_owned(), type_name.to_owned());
    ObjectMember { path, type_name, element, declaring: None }
}

#[test]
fn an_element_of_a_static_array_is_named_with_its_index_and_member() {
    each("plain.c", true, |what, sample| {
        let (program, lines) = (sample.open(), sample.run());
        let address = numbers(&lines, "data", "workers[2].misses")[0];
        let (variable, found) = at(&program, address, 8);
        assert_eq!(variable, "workers", "{what}");
        assert_eq!(found, place("[2].misses", "long unsigned int", Some(2)), "{what}");
        let object = program.variable(address).unwrap();
        assert_eq!((object.size, &*object.type_name), (96, "worker[4]"), "{what}");
        assert_eq!(object.address, address - 2 * 24 - 8, "{what}");
        assert_eq!(object.evidence, TypeEvidence::Declaration, "{what}");
        let declared = object.declared.unwrap();
        assert_eq!(&*declared.file, "plain.c", "{what}");
        assert_eq!(declared.line, Sample::line_of("plain.c", "workers"), "{what}");
        let address = numbers(&lines, "data", "total")[0];
        let expected = ("total".to_owned(), place("", "long unsigned int", None));
        assert_eq!(at(&program, address, 8), expected, "{what}");
        let address = numbers(&lines, "data", "last.retries")[0];
        let expected = ("last".to_owned(), place("retries", "short int", None));
        assert_eq!(at(&program, address, 2), expected, "{what}");
    });
}

#[test]
fn variables_of_namespaces_and_modules_are_named_without_those() {
    each("plain.cpp", true, |what, sample| {
        let (program, lines) = (sample.open(), sample.run());
        let address = numbers(&lines, "data", "table[1].owner")[0];
        let (variable, found) = at(&program, address, 8);
        assert_eq!(variable, "table", "{what}");
        assert_eq!(found.path, "[1].owner", "{what}");
    });
    each("plain.rs", true, |what, sample| {
        let (program, lines) = (sample.open(), sample.run());
        let address = numbers(&lines, "data", "WORKERS[2].other")[0];
        let (variable, found) = at(&program, address, 8);
        assert_eq!((&*variable, &*found.path), ("WORKERS", "[2].other"), "{what}");
        let address = numbers(&lines, "data", "TOTAL")[0];
        let (variable, found) = at(&program, address, 8);
        assert_eq!((&*variable, &*found.path), ("TOTAL", ""), "{what}");
        let address = numbers(&lines, "data", "COUNTERS[1]")[0];
        let (variable, found) = at(&program, address, 8);
        assert_eq!(
            (&*variable, &*found.path, found.element),
            ("COUNTERS", "[1]", Some(1)),
            "{what}"
        );
    });
}

#[test]
fn without_debugging_information_there_is_the_distance_from_a_symbol() {
    each("plain.c", false, |what, sample| {
        let lines = sample.run();
        let address = numbers(&lines, "data", "workers[2].misses")[0];
        let program = sample.open();
        let object = program.variable(address).unwrap();
        assert_eq!((object.evidence, object.size), (TypeEvidence::Symbol, 96), "{what}");
        let (variable, found) = at(&program, address, 8);
        assert_eq!((&*variable, found), ("workers", place("+56", "", None)), "{what}");
        if let Some(stripped) = sample.stripped() {
            assert_eq!(Program::open(&stripped).unwrap().variable(address), None, "{what}");
        }
    });
}

#[test]
fn a_member_is_declared_by_the_type_of_an_element_or_by_a_base() {
    each("plain.cpp", true, |what, sample| {
        let (program, lines) = (sample.open(), sample.run());
        let declared = |name: &str| {
            let address = numbers(&lines, "data", name)[0];
            let object = program.variable(address).unwrap();
            let found = program.member(&object, address - object.address, 8);
            let declaring = found.declaring.unwrap();
            (found.path, declaring.name, declaring.declared.unwrap().line)
        };
        for (name, path, ty) in [
            ("table[1].owner", "[1].owner", "Counter"),
            ("entry.hits", "hits", "Counted"),
            ("entry.misses", "misses", "Entry"),
        ] {
            let line = Sample::line_of("plain.cpp", ty);
            let expected = (path.to_owned(), ty.to_owned(), line);
            assert_eq!(declared(name), expected, "{what}");
        }
    });
}
