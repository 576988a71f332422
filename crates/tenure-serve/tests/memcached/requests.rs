//! Random requests, some with anything wrong.

use proptest::prelude::*;
use proptest::sample::select;

fn short_key() -> impl Strategy<Value = String> {
    prop_oneof![
        20 => select(vec!["a", "b", "c"]).prop_map(str::to_owned),
        1 => Just("k\tey\u{1}".to_owned()),
        1 => Just("x".repeat(250)),
    ]
}

/// Also too long a key. Not for retrievals: with their error memcached drops the answers to earlier requests.
fn key() -> impl Strategy<Value = String> {
    prop_oneof![20 => short_key(), 1 => Just("y".repeat(251))]
}

/// Has memcached send its answers. Until then the answer to `get` or `mg` holds its item, and `incr` makes a new one,
/// which may be shorter.
const SENT: &str = "mn\r\n";

/// Keys in base64: "a", "b", some bytes, nothing.
fn binary_key() -> impl Strategy<Value = &'static str> {
    select(vec!["YQ==", "Yg==", "AP8KDSA=", "YWJj", "Y", "!", "Y===", "YQ"])
}

fn number() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => (0..12_u32).prop_map(|n| n.to_string()),
        // memcached cuts the client's flags to 32 bits; here those are refused.
        1 => select(vec!["-1", "007", "1x", "x", "4294967295"]).prop_map(str::to_owned),
    ]
}

/// Also one that does not fit.
fn large_number() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => number(),
        1 => select(vec!["18446744073709551615", "18446744073709551616", "-18446744073709551615"])
            .prop_map(str::to_owned),
    ]
}

/// The server's own numbers are smaller.
fn chosen() -> impl Strategy<Value = String> {
    prop_oneof![4 => (1000..1003_u32).prop_map(|n| n.to_string()), 1 => Just("x".to_owned())]
}

/// So far away that a second does not matter.
fn expiry() -> impl Strategy<Value = &'static str> {
    select("0,0,0,100,100,-1,2592000,2592001,1000000000,x,1000 ".split(',').collect::<Vec<_>>())
}

fn noreply() -> impl Strategy<Value = &'static str> {
    prop_oneof![6 => Just(""), 1 => Just(" noreply")]
}

fn data() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => (0..300_u64).prop_map(|n| n.to_string()),
        1 => Just("18446744073709551615".to_owned()),
        1 => Just("12 ".to_owned()),
        // Not spaces alone: memcached looks for a number behind their end.
        4 => "([a-z]([a-z ]|\r\n){0,11})?",
        // Not too long for a line.
        1 => "z{0,1800}",
    ]
}

/// A command's words and its data, whose length may differ from the announced one.
fn with_data(
    line: impl Strategy<Value = (String, String, String)>,
) -> impl Strategy<Value = Vec<u8>> {
    let off = prop_oneof![20 => Just(0_i64), 1 => -2..3_i64];
    (line, off).prop_map(|((before, data, after), off)| {
        let len = (data.len() as i64 + off).max(0);
        format!("{before} {len}{after}\r\n{data}\r\n").into_bytes()
    })
}

fn storage() -> impl Strategy<Value = Vec<u8>> {
    let name = select(vec!["set", "set", "set", "add", "replace", "append", "prepend"]);
    let plain = (name, key(), number(), expiry(), data(), noreply()).prop_map(
        |(name, key, flags, expiry, data, noreply)| {
            (format!("{name} {key} {flags} {expiry}"), data, noreply.to_owned())
        },
    );
    let cas = (key(), number(), expiry(), data(), chosen(), noreply()).prop_map(
        |(key, flags, expiry, data, cas, noreply)| {
            (format!("cas {key} {flags} {expiry}"), data, format!(" {cas}{noreply}"))
        },
    );
    prop_oneof![3 => with_data(plain), 1 => with_data(cas)]
}

fn line() -> impl Strategy<Value = String> {
    let keys = || proptest::collection::vec(short_key(), 0..4).prop_map(|keys| keys.join(" "));
    let many = proptest::collection::vec(short_key(), 20..60).prop_map(|keys| keys.join(" "));
    prop_oneof![
        4 => keys().prop_map(|keys| format!("get {keys}")),
        1 => many.prop_map(|keys| format!("get {keys}")),
        2 => (Just("gat"), expiry(), keys()).prop_map(|(name, expiry, keys)| format!("{name} {expiry} {keys}")),
        2 => (select(vec!["incr", "decr"]), key(), large_number(), noreply()).prop_map(|(name, key, by, noreply)| format!("{name} {key} {by}{noreply}")),
        1 => (key(), expiry(), noreply()).prop_map(|(key, expiry, noreply)| format!("touch {key} {expiry}{noreply}")),
        1 => (key(), select(vec!["", " 0", " 1"]), noreply()).prop_map(|(key, zero, noreply)| format!("delete {key}{zero}{noreply}")),
        1 => (select(vec!["", " 0", " -1", " x"]), noreply()).prop_map(|(delay, noreply)| format!("flush_all{delay}{noreply}")),
        1 => (number(), noreply()).prop_map(|(level, noreply)| format!("verbosity {level}{noreply}")),
        1 => select(vec!["mn", "mn x", "mx", "", " ", "GET a", "get", "gets  ", "set", "set a", "delete", "incr a", "foo bar", "shutdown", "\r"]).prop_map(str::to_owned),
    ]
}

fn flag() -> impl Strategy<Value = String> {
    let plain = select(vec!["f", "h", "k", "l", "q", "s", "t", "u", "v", "v", "k"]);
    prop_oneof![
        20 => plain.prop_map(str::to_owned),
        2 => (select(vec!["N", "T", "R"]), expiry()).prop_map(|(flag, expiry)| format!("{flag}{expiry}")),
        3 => "O[a-z]{0,6}",
        1 => Just(format!("O{}", "o".repeat(31))),
        2 => (select(vec!["C", "E"]), chosen()).prop_map(|(flag, number)| format!("{flag}{number}")),
        2 => (select(vec!["F", "J", "D"]), number()).prop_map(|(flag, number)| format!("{flag}{number}")),
        2 => select(vec!["I", "MS", "ME", "MA", "MP", "MR", "MI", "MD", "M+", "M-", "Mx", "M", "P1", "L2"]).prop_map(str::to_owned),
        1 => select(vec!["x", "S5", "j", "z9"]).prop_map(str::to_owned),
    ]
}

fn flags() -> impl Strategy<Value = String> {
    let none: Vec<String> = Vec::new();
    prop_oneof![
        30 => proptest::collection::hash_set(flag(), 0..5).prop_map(Vec::from_iter),
        1 => proptest::collection::vec(flag(), 2..20),
        1 => Just(none),
    ]
    .prop_map(|flags| flags.iter().map(|flag| format!(" {flag}")).collect())
}

fn meta() -> impl Strategy<Value = Vec<u8>> {
    let key = || {
        prop_oneof![
            4 => key().prop_map(|key| (key, "")),
            1 => binary_key().prop_map(|key| (key.to_owned(), " b")),
        ]
    };
    let short = (select(vec!["mg", "mg", "mg", "md", "ma"]), key(), flags()).prop_map(
        |(name, (key, binary), mut flags)| {
            // An item that one of these makes answers with its key's bytes there.
            if !binary.is_empty() {
                let kept = flags.split(' ').filter(|flag| !flag.starts_with(['N', 'x']));
                flags = kept.collect::<Vec<_>>().join(" ");
            }
            format!("{name} {key}{binary}{flags}\r\n{SENT}").into_bytes()
        },
    );
    let set = with_data((key(), data(), flags()).prop_map(|((key, binary), data, flags)| {
        (format!("ms {key}"), data, format!("{binary}{flags}"))
    }));
    let wrong = select(vec!["mg", "ms", "md", "ma", "ms a", "mg a !", "md a 1", "ma a \u{e9}"]);
    prop_oneof![
        6 => short,
        4 => set,
        1 => wrong.prop_map(|line| format!("{line}\r\n").into_bytes()),
    ]
}

/// Words of any commands.
fn soup() -> impl Strategy<Value = Vec<u8>> {
    let words = "get gat delete incr decr touch mg md ma noreply flush_all verbosity".split(' ');
    let word = prop_oneof![
        select(words.collect::<Vec<_>>()).prop_map(str::to_owned),
        short_key(),
        number(),
        flag(),
    ];
    let end = select(vec!["\r\n", " \r\n", "\r\r\n", "\0 a\r\n"]);
    (proptest::collection::vec(word, 0..9), end)
        .prop_map(|(words, end)| format!("{}{end}{SENT}", words.join(" ")).into_bytes())
}

/// Ends with a complete request: memcached would not answer those before one that is not.
pub(crate) fn requests() -> impl Strategy<Value = Vec<u8>> {
    let request = prop_oneof![
        5 => storage(),
        5 => line().prop_map(|line| format!("{line}\r\n{SENT}").into_bytes()),
        5 => meta(),
        1 => soup(),
    ];
    proptest::collection::vec(request, 1..24)
        .prop_map(|requests| [requests.concat(), b"\r\n".repeat(10)].concat())
}
