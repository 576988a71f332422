//! Members in another order.

use super::program::{Program, strings};
use tenure_edit::SourceChange;

fn order(members: &[&str]) -> SourceChange {
    SourceChange::Order { members: strings(members) }
}

#[test]
fn members_move_with_their_comments_and_attributes() {
    let before = "\
#[repr(C)]
#[derive(Clone, Debug, Default)]
struct Queue { // of both
    /// Häufig.
    #[doc(hidden)] // kept
    head: u64, // by consumers

    // Producers.
    /* and others */ tail: u64, /* by producers */
    r#type: Option<u8> // no comma
}

fn main() {
    let queue = Queue { head: 1, tail: 2, ..Default::default() };
    println!(\"{} {} {:?}\", queue.head, queue.tail, queue.r#type);
}
";
    let after = "\
struct Queue { // of both
    r#type: Option<u8>, // no comma
    /// Häufig.
    #[doc(hidden)] // kept
    head: u64, // by consumers

    // Producers.
    /* and others */ tail: u64 /* by producers */
}
";
    let edited = Program::own(before, "Queue", order(&["type", "head", "tail"])).runs();
    assert!(edited.contains(after), "{edited}");
    let crlf = before.replace('\n', "\r\n");
    let edited = Program::own(&crlf, "Queue", order(&["type", "head", "tail"])).runs();
    assert!(edited.contains(&after.replace('\n', "\r\n")));

    let line = "#[repr(C)] struct S { a: u8, /* b */ b: u16 }\nfn main() {}\n";
    let edited = Program::own(line, "S", order(&["b", "a"])).edited().unwrap();
    assert!(edited.starts_with("#[repr(C)] struct S { /* b */ b: u16, a: u8 }\n"), "{edited}");
}

#[test]
fn an_order_that_can_be_seen_is_refused() {
    let cases = [
        ("struct S { a: u8, b: u8 }", "rustc orders the members of `S` by itself"),
        (
            "#[derive(PartialEq, PartialOrd)] #[repr(C)] struct S { a: u8, b: u8 }",
            "`derive(PartialOrd)` may depend",
        ),
        ("#[derive(Hash)] #[repr(C)] struct S { a: u8, b: u8 }", "`derive(Hash)` may depend"),
        (
            "#[cfg_attr(unix, derive(Hash))] #[repr(C)] struct S { a: u8, b: u8 }",
            "a derive is under a condition",
        ),
        ("#[repr(C)] struct S { b: u8, a: u8 }", "in this order already"),
        ("#[repr(C)] struct S { a: u8, b: u8, c: u8 }", "leaves out members"),
        ("#[repr(C)] struct S { a: String, b: Box<u8> }", "may do something when dropped"),
        (
            "#[repr(C)] struct S { a: u8, b: u8 }\nextern \"C\" { fn f(s: &S); }",
            "for code in another language",
        ),
    ];
    for (text, why) in cases {
        let text = format!("{text}\nfn main() {{}}\n");
        let refused = Program::own(&text, "S", order(&["b", "a"])).first().unwrap_err().why;
        assert!(refused.contains(why), "{text}\n{refused}");
    }
    let text = "#[repr(C)] struct S(u8, u8);\nfn main() {}\n";
    let refused = Program::own(text, "S", order(&["1", "0"])).first().unwrap_err();
    assert!(refused.why.contains("named by their order"));
}

#[test]
fn members_without_a_drop_pass_one_with() {
    let text = "#[repr(C)] struct S<T> { a: std::sync::atomic::AtomicU64, b: Vec<T>, c: [Option<u8>; 2] }\nfn main() {}\n";
    let edited = Program::own(text, "S", order(&["c", "b", "a"])).edited().unwrap();
    assert!(edited.contains("{ c: [Option<u8>; 2], b: Vec<T>, a: std::sync::atomic::AtomicU64 }"));
}
