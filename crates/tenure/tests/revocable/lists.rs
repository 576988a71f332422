//! Lists and trees of values that have each other's last strong handles: they end without deep recursion, each value once.

use crate::support::{Kind, Token, panics};
use std::sync::Mutex;
use std::thread;
use tenure::rcu::RcuCell;
use tenure::revocable::generic::{Domain, Strong};

/// More than there could be frames of destructors that call each other.
const LENGTH: usize = if cfg!(miri) {
    50
} else if cfg!(sanitized) {
    20_000
} else {
    100_000
};

/// With the default stack of threads, whatever the environment says.
fn on_a_small_stack(test: impl FnOnce() + Send) {
    thread::scope(|scope| {
        let builder = thread::Builder::new().stack_size(2 << 20);
        builder.spawn_scoped(scope, test).unwrap().join().unwrap();
    });
}

struct Node<S: Kind> {
    _next: Option<Strong<Node<S>, S>>,
    _token: Token,
}

fn list<S: Kind>(domain: &Domain<Node<S>, S>, token: &Token, length: usize) -> Strong<Node<S>, S> {
    let node = |next| domain.strong(Node { _next: next, _token: token.clone() });
    (1..length).fold(node(None), |next, _| node(Some(next)))
}

fn a_list_of_any_length_ends_on_a_small_stack<S: Kind>() {
    on_a_small_stack(|| {
        let (token, domain) = (Token::new(), Domain::new_in());
        drop(list::<S>(&domain, &token, LENGTH));
        assert_eq!((token.objects(), domain.stats().retired), (0, LENGTH as u64));
        domain.drop_all([list(&domain, &token, LENGTH), list(&domain, &token, 1)]);
        assert_eq!(token.objects(), 0);
    });
}

fn a_list_that_a_worker_lets_go_of_ends_on_a_small_stack<S: Kind>() {
    on_a_small_stack(|| {
        let (token, domain) = (Token::new(), Domain::new_in());
        let mut local = domain.register();
        let first = list::<S>(&domain, &token, LENGTH);
        let guard = local.enter(&first);
        drop(first);
        assert_eq!(token.objects(), LENGTH);
        drop(guard);
        local.clear();
        assert_eq!((token.objects(), domain.stats().retired), (0, LENGTH as u64));
    });
}

#[test]
fn the_versions_of_a_value_end_on_a_small_stack() {
    struct Version(Option<tenure::revocable::Strong<Version>>, Token);
    on_a_small_stack(|| {
        let token = Token::new();
        let cached = RcuCell::new(Version(None, token.clone()));
        for _ in 1..LENGTH {
            let before = cached.load_full();
            cached.store(Version(Some(before), token.clone()));
        }
        assert_eq!(token.objects(), LENGTH);
        assert!(cached.load().0.is_some() && cached.load().1.is(&token));
        drop(cached);
        assert_eq!(token.objects(), 0);
    });
}

fn a_list_through_two_domains_ends_on_a_small_stack<S: Kind>() {
    struct Odd<S: Kind> {
        _even: Option<Strong<Even<S>, S>>,
        _token: Token,
    }
    struct Even<S: Kind> {
        _odd: Strong<Odd<S>, S>,
        _token: Token,
    }
    on_a_small_stack(|| {
        let token = Token::new();
        let (odds, evens) = (Domain::<Odd<S>, S>::new_in(), Domain::<Even<S>, S>::new_in());
        let mut first = odds.strong(Odd { _even: None, _token: token.clone() });
        for _ in 0..LENGTH / 2 {
            let even = evens.strong(Even { _odd: first, _token: token.clone() });
            first = odds.strong(Odd { _even: Some(even), _token: token.clone() });
        }
        drop(first);
        assert_eq!(token.objects(), 0);
    });
}

struct Named<'n, S: Kind> {
    name: &'static str,
    said: &'n Mutex<Vec<&'static str>>,
    panics: bool,
    others: Vec<Strong<Named<'n, S>, S>>,
}

impl<S: Kind> Drop for Named<'_, S> {
    fn drop(&mut self) {
        self.said.lock().unwrap().push(self.name);
        let others = std::mem::take(&mut self.others);
        let had = !others.is_empty();
        drop(others);
        if had {
            self.said.lock().unwrap().push("and returns");
        }
        assert!(!self.panics, "in drop");
    }
}

fn tree<'n, S: Kind>(
    domain: &Domain<Named<'n, S>, S>,
    said: &'n Mutex<Vec<&'static str>>,
    panics: &str,
) -> Strong<Named<'n, S>, S> {
    let named = |name, others| domain.strong(Named { name, said, panics: panics == name, others });
    let left = named("left", vec![named("under left", vec![])]);
    let right = named("right", vec![named("under right", vec![])]);
    named("root", vec![left, right])
}

const IN_ORDER: [&str; 8] = [
    "root",
    "and returns",
    "left",
    "and returns",
    "right",
    "and returns",
    "under left",
    "under right",
];

fn what_a_destructor_ends_goes_when_that_has_returned<S: Kind>() {
    let said = Mutex::new(Vec::new());
    let domain = Domain::<Named<'_, S>, S>::new_in();
    drop(tree(&domain, &said, "none"));
    assert_eq!(*said.lock().unwrap(), IN_ORDER);
}

fn if_one_of_a_tree_panics_the_others_go_all_the_same<S: Kind>() {
    for name in ["root", "left", "right", "under left", "under right"] {
        let said = Mutex::new(Vec::new());
        let domain = Domain::<Named<'_, S>, S>::new_in();
        let root = tree(&domain, &said, name);
        assert_eq!(panics(|| drop(root)), "in drop");
        assert_eq!(*said.lock().unwrap(), IN_ORDER, "{name} panics");
        // What ends next is not taken for a part of that.
        said.lock().unwrap().clear();
        drop(tree(&domain, &said, "none"));
        assert_eq!(*said.lock().unwrap(), IN_ORDER);
    }
}

/// The destructor makes a domain of its own, whose values borrow from it.
fn what_a_destructor_ends_of_another_domain_goes_at_once<S: Kind>() {
    struct Outer<S: Kind>(Mutex<Vec<&'static str>>, std::marker::PhantomData<fn() -> S>);
    impl<S: Kind> Drop for Outer<S> {
        fn drop(&mut self) {
            let domain = Domain::<Named<'_, S>, S>::new_in();
            drop(tree(&domain, &self.0, "none"));
            assert_eq!(*self.0.lock().unwrap(), IN_ORDER);
        }
    }
    let domain = Domain::<Outer<S>, S>::new_in();
    drop(domain.strong(Outer(Mutex::default(), std::marker::PhantomData)));
    assert_eq!(domain.stats().retired, 1);
}

claims! {
    a_list_of_any_length_ends_on_a_small_stack,
    a_list_that_a_worker_lets_go_of_ends_on_a_small_stack,
    a_list_through_two_domains_ends_on_a_small_stack,
    what_a_destructor_ends_goes_when_that_has_returned,
    if_one_of_a_tree_panics_the_others_go_all_the_same,
    what_a_destructor_ends_of_another_domain_goes_at_once,
}
