use tenure_debuginfo::model::Name;
use tenure_debuginfo::names;

/// Words of functions that run when an object, or the program, begins or ends.
const SETUP: &str = "init initialize alloc allocate probe create new setup register open make clone dup parse config \
    configure start exit destroy free release remove cleanup fini teardown unregister drop close stop \
    delete dispose constructor ctor dtor shutdown uninit main";

/// Shorter words of a name are no abbreviation of anything.
const MIN_LETTERS: usize = 2;

/// A function that uses members.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UsingFunction {
    /// The name as a person says it.
    pub(crate) name: Name,
    /// Whether its name says that it runs when some object, or the program, begins or ends. Which one, `is_of`
    /// says.
    pub(crate) is_setup: bool,
    /// Whether it calls a function whose name says that it takes a lock.
    pub(crate) takes_lock: bool,
}

impl UsingFunction {
    pub(super) fn new(name: Name, takes_lock: bool) -> Self {
        let is_setup = is_setup(&name);
        Self { name, is_setup, takes_lock }
    }

    /// Whether its name speaks of a type or variable, or of nothing: `session_new` and `init` do for a `Session`, `new_cursor`
    /// does not. A name abbreviates: `sk_alloc` is of a `sock`, `conn_open` of a `Connection`.
    pub(super) fn is_of(&self, name: &str) -> bool {
        let subject = words(names::last(name.split('<').next().unwrap_or(name)));
        let mut others = self.objects().peekable();
        others.peek().is_none() || others.any(|word| abbreviates(&word, &subject))
    }

    /// The words of its name, and of the class that it is a method of, which are no verb of [`SETUP`].
    fn objects(&self) -> impl Iterator<Item = String> {
        let steps = self.name.split("::").filter(|step| !step.starts_with(['{', '(']));
        let steps: Vec<&str> = steps.collect();
        let own = steps[steps.len().saturating_sub(2)..].to_vec();
        own.into_iter()
            .flat_map(words)
            .filter(|word| word.len() >= MIN_LETTERS && !is_setup_word(word))
    }
}

/// Whether the letters of a word are, in their order, letters of a name from the start of one of its words on.
fn abbreviates(word: &str, subject: &[String]) -> bool {
    (0..subject.len()).any(|start| {
        let mut letters = subject[start..].iter().flat_map(|word| word.chars());
        subject[start].chars().next() == word.chars().next()
            && word.chars().all(|letter| letters.any(|other| other == letter))
    })
}

fn is_setup_word(word: &str) -> bool {
    SETUP.split(' ').any(|other| other == word)
}

fn is_setup(name: &str) -> bool {
    let parts: Vec<&str> = name.split("::").collect();
    let at = parts.iter().rposition(|part| !part.starts_with('{')).unwrap_or(parts.len() - 1);
    let last = parts[at];
    // C++'s constructors, and its destructors.
    let is_constructor = at > 0 && parts[at - 1] == last;
    is_constructor || last.starts_with('~') || words(last).iter().any(|word| is_setup_word(word))
}

/// `ngx_http_init`, `initWorker`, `InitWorker`.
fn words(name: &str) -> Vec<String> {
    names::words(name, |letter| letter.is_ascii_alphabetic())
}

#[cfg(test)]
mod tests {
    use super::{UsingFunction, is_setup};

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

    #[test]
    fn a_function_that_begins_or_ends_an_object_names_it_or_none() {
        let is_of = |function: &str, ty: &str| UsingFunction::new(function.into(), false).is_of(ty);
        for (function, ty) in [
            ("conn_new", "conn"),
            ("conn_open", "server::Connection<u8>"),
            ("sk_alloc", "inet_sock"),
            ("__alloc_skb", "sk_buff"),
            ("Session::new", "server::Session"),
            ("Pool::~Pool", "Pool"),
            ("main", "Table"),
            ("init", "Table"),
        ] {
            assert!(is_of(function, ty), "{function} {ty}");
        }
        for (function, ty) in [
            ("Db::NewCursor", "Table"),
            ("leveldb::(anonymous namespace)::CleanupIteratorState", "leveldb::MemTable"),
            ("leveldb::DBImpl::NewInternalIterator", "leveldb::MemTable"),
            ("conn_new", "server"),
        ] {
            assert!(!is_of(function, ty), "{function} {ty}");
        }
    }
}
