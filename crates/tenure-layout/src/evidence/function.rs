use tenure_types::model::Name;

/// Words of functions that run when an object, or the program, begins or ends.
const SETUP: [&str; 37] = [
    "init",
    "initialize",
    "alloc",
    "allocate",
    "probe",
    "create",
    "new",
    "setup",
    "register",
    "open",
    "make",
    "clone",
    "dup",
    "parse",
    "config",
    "configure",
    "start",
    "exit",
    "destroy",
    "free",
    "release",
    "remove",
    "cleanup",
    "fini",
    "teardown",
    "unregister",
    "drop",
    "close",
    "stop",
    "delete",
    "dispose",
    "constructor",
    "ctor",
    "dtor",
    "shutdown",
    "uninit",
    "main",
];

/// A function that uses members.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function {
    /// As a person says it.
    pub name: Name,
    /// Whether its name says that it runs when an object, or the program, begins or ends.
    pub is_setup: bool,
    /// Whether it calls a function whose name says that it takes a lock.
    pub takes_lock: bool,
}

impl Function {
    pub(super) fn new(name: Name, takes_lock: bool) -> Self {
        let is_setup = is_setup(&name);
        Self { name, is_setup, takes_lock }
    }
}

fn is_setup(name: &str) -> bool {
    let parts: Vec<&str> = name.split("::").collect();
    let is_named = |part: &&str| !part.starts_with('{');
    let at = parts.iter().rposition(is_named).unwrap_or(parts.len() - 1);
    let last = parts[at];
    // Of C++, and C++'s destructors.
    let is_constructor = at > 0 && parts[at - 1] == last;
    is_constructor || last.starts_with('~') || words(last).any(|word| SETUP.contains(&&*word))
}

/// `ngx_http_init`, `initWorker`, `InitWorker`.
fn words(name: &str) -> impl Iterator<Item = String> {
    name.split(|letter: char| !letter.is_ascii_alphabetic()).flat_map(|part| {
        let mut words: Vec<String> = Vec::new();
        let mut was_lower = false;
        for letter in part.chars() {
            let begins = letter.is_ascii_uppercase() && was_lower;
            if begins || words.is_empty() {
                words.push(String::new());
            }
            was_lower = letter.is_ascii_lowercase();
            if let Some(word) = words.last_mut() {
                word.push(letter.to_ascii_lowercase());
            }
        }
        words
    })
}

#[cfg(test)]
mod tests {
    use super::is_setup;

    #[test]
    fn a_function_that_runs_once_is_known_by_its_name() {
        for name in [
            "conn_new",
            "sk_alloc",
            "initWorker",
            "Session::new",
            "Pool::Pool",
            "Pool::~Pool",
            "main",
        ] {
            assert!(is_setup(name), "{name}");
        }
        for name in [
            "conn_accept",
            "renew",
            "tcp_v4_rcv",
            "Session::get",
            "handle::{closure}",
            "Session::get::{closure}",
            "newline",
            "",
        ] {
            assert!(!is_setup(name), "{name}");
        }
    }
}
