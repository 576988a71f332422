//! The same source with std's pointers and with ours: a program, and random operations in lockstep.
#![allow(clippy::arc_with_non_send_sync, reason = "the log of drops is for one thread")]

use crate::cases::cases;
use proptest::prelude::*;

macro_rules! twice {
    ($($code:tt)*) => {
        mod on_std {
            use std::sync::{Arc, Weak};
            $($code)*
        }
        mod on_tenure {
            use tenure::sync::{Arc, Weak};
            $($code)*
        }
    };
}

twice! {
    use std::cell::RefCell;
    use std::collections::{BTreeMap, HashMap};
    use std::fmt::Write;
    use std::rc::Rc;
    use std::sync::{Mutex, RwLock};
    use super::Operation;

    // A program: a tree of named jobs with links up and down, names interned, settings copied on write.

    #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
    struct Settings {
        retries: u32,
        tags: Vec<Arc<str>>,
    }

    #[derive(Debug)]
    struct Job {
        name: Arc<str>,
        parent: Weak<Job>,
        me: Weak<Job>,
        children: RwLock<Vec<Arc<Job>>>,
        settings: Mutex<Arc<Settings>>,
    }

    #[derive(Default)]
    struct Names(HashMap<Arc<str>, usize>);

    impl Names {
        fn intern(&mut self, name: &str) -> Arc<str> {
            if let Some((known, _)) = self.0.get_key_value(name) {
                return Arc::clone(known);
            }
            let name: Arc<str> = name.into();
            self.0.insert(name.clone(), self.0.len());
            name
        }
    }

    impl Job {
        fn new(name: Arc<str>, parent: Option<&Arc<Job>>) -> Arc<Self> {
            let settings = parent
                .map(|parent| parent.settings.lock().unwrap().clone())
                .unwrap_or_default();
            let job = Arc::new_cyclic(|me| Self {
                name,
                parent: parent.map_or_else(Weak::new, Arc::downgrade),
                me: me.clone(),
                children: RwLock::default(),
                settings: Mutex::new(settings),
            });
            if let Some(parent) = parent {
                parent.children.write().unwrap().push(job.clone());
            }
            job
        }

        fn path(&self) -> String {
            match self.parent.upgrade() {
                Some(parent) => format!("{}/{}", parent.path(), self.name),
                None => self.name.to_string(),
            }
        }

        fn set_retries(&self, retries: u32) {
            Arc::make_mut(&mut self.settings.lock().unwrap()).retries = retries;
        }

        fn handle(&self) -> Arc<Self> {
            self.me.upgrade().unwrap()
        }
    }

    pub(super) fn program() -> String {
        let mut report = String::new();
        let mut names = Names::default();
        let root = Job::new(names.intern("root"), None);
        Arc::make_mut(&mut root.settings.lock().unwrap()).tags.push(names.intern("root"));
        let build = Job::new(names.intern("build"), Some(&root));
        let test = Job::new(names.intern("test"), Some(&build));
        let _again = Job::new(names.intern("build"), Some(&test));
        build.set_retries(3);

        let threads: Vec<_> = [root.clone(), build.clone(), test.handle()]
            .into_iter()
            .map(|job| {
                std::thread::spawn(move || (job.path(), job.settings.lock().unwrap().clone()))
            })
            .collect();
        let mut by_settings: BTreeMap<Arc<Settings>, Vec<String>> = BTreeMap::new();
        for thread in threads {
            let (path, settings) = thread.join().unwrap();
            by_settings.entry(settings).or_default().push(path);
        }
        writeln!(report, "{by_settings:?}").unwrap();
        writeln!(report, "{} {}", Arc::strong_count(&build), Arc::weak_count(&build)).unwrap();
        writeln!(report, "{:?} {:?}", names.0.get("test"), Weak::<Job>::new()).unwrap();

        let raw = Arc::into_raw(test);
        // SAFETY: from `into_raw` above, given back once.
        let test = unsafe { Arc::from_raw(raw) };
        drop(root);
        writeln!(report, "{} {:?}", test.path(), build.parent.upgrade().is_none()).unwrap();
        build.children.write().unwrap().clear();
        drop(build);
        let alone = match Arc::try_unwrap(test) {
            Ok(job) => job.name,
            Err(shared) => Arc::from(format!("{} is shared", shared.name)),
        };
        let words: Arc<[u8]> = alone.bytes().rev().collect();
        writeln!(report, "{:?} {}", Arc::<[u8; 4]>::try_from(words), alone).unwrap();
        report
    }

    // Random operations on handles to values that log their clones and drops.

    type Log = Rc<RefCell<Vec<String>>>;

    #[derive(Debug)]
    struct Value {
        number: u8,
        _cycle: Weak<Value>,
        log: Log,
    }

    impl Clone for Value {
        fn clone(&self) -> Self {
            self.log.borrow_mut().push(format!("clone {}", self.number));
            Self { number: self.number, _cycle: self._cycle.clone(), log: self.log.clone() }
        }
    }

    impl Drop for Value {
        fn drop(&mut self) {
            self.log.borrow_mut().push(format!("drop {}", self.number));
        }
    }

    #[derive(Default)]
    pub(super) struct World {
        strong: Vec<Arc<Value>>,
        weak: Vec<Weak<Value>>,
        log: Log,
    }

    impl World {
        fn take(&mut self, which: usize) -> Option<Arc<Value>> {
            let len = self.strong.len();
            (len > 0).then(|| self.strong.swap_remove(which % len))
        }

        fn take_weak(&mut self, which: usize) -> Option<Weak<Value>> {
            let len = self.weak.len();
            (len > 0).then(|| self.weak.swap_remove(which % len))
        }

        pub(super) fn apply(&mut self, operation: Operation) -> Option<String> {
            use Operation as O;
            let log = self.log.clone();
            let said = match operation {
                O::New(number) => {
                    self.strong.push(Arc::new(Value { number, _cycle: Weak::new(), log }));
                    String::new()
                }
                O::NewCyclic(number) => {
                    let weak = &mut self.weak;
                    self.strong.push(Arc::new_cyclic(|me| {
                        weak.push(me.clone());
                        assert!(me.upgrade().is_none());
                        Value { number, _cycle: me.clone(), log }
                    }));
                    String::new()
                }
                O::WeakNew => {
                    self.weak.push(Weak::default());
                    String::new()
                }
                O::Clone(which) => {
                    let arc = self.take(which)?;
                    self.strong.push(arc.clone());
                    self.strong.push(arc);
                    String::new()
                }
                O::Drop(which) => {
                    drop(self.take(which)?);
                    String::new()
                }
                O::Downgrade(which) => {
                    let arc = self.take(which)?;
                    self.weak.push(Arc::downgrade(&arc));
                    self.strong.push(arc);
                    String::new()
                }
                O::Upgrade(which) => {
                    let weak = self.take_weak(which)?;
                    let upgraded = weak.upgrade();
                    let said = format!("{:?}", upgraded.as_ref().map(|value| value.number));
                    self.strong.extend(upgraded);
                    self.weak.push(weak);
                    said
                }
                O::CloneWeak(which) => {
                    let weak = self.take_weak(which)?;
                    self.weak.push(weak.clone());
                    self.weak.push(weak);
                    String::new()
                }
                O::DropWeak(which) => {
                    drop(self.take_weak(which)?);
                    String::new()
                }
                O::GetMut(which, number) => {
                    let mut arc = self.take(which)?;
                    let value = Arc::get_mut(&mut arc);
                    let said = value.map(|value| std::mem::replace(&mut value.number, number));
                    self.strong.push(arc);
                    format!("{said:?}")
                }
                O::MakeMut(which, number) => {
                    let mut arc = self.take(which)?;
                    let place = Arc::as_ptr(&arc);
                    Arc::make_mut(&mut arc).number = number;
                    let said = format!("in place: {}", Arc::as_ptr(&arc) == place);
                    self.strong.push(arc);
                    said
                }
                O::TryUnwrap(which) => match Arc::try_unwrap(self.take(which)?) {
                    Ok(value) => format!("{}", value.number),
                    Err(arc) => {
                        self.strong.push(arc);
                        "shared".into()
                    }
                },
                O::IntoInner(which) => {
                    format!("{:?}", Arc::into_inner(self.take(which)?).map(|value| value.number))
                }
                O::UnwrapOrClone(which) => {
                    format!("{}", Arc::unwrap_or_clone(self.take(which)?).number)
                }
                O::Raw(which) => {
                    let raw = Arc::into_raw(self.take(which)?);
                    // SAFETY: from `into_raw`, which stands for a reference.
                    unsafe { Arc::increment_strong_count(raw) };
                    // SAFETY: one of two.
                    unsafe { Arc::decrement_strong_count(raw) };
                    // SAFETY: the other.
                    self.strong.push(unsafe { Arc::from_raw(raw) });
                    String::new()
                }
                O::RawWeak(which) => {
                    let raw = self.take_weak(which)?.into_raw();
                    // SAFETY: from `into_raw`, given back once.
                    self.weak.push(unsafe { Weak::from_raw(raw) });
                    String::new()
                }
                O::Compare(one, other) => {
                    let (one, other) = (self.take(one)?, self.take(other)?);
                    let weak = Arc::downgrade(&one);
                    let said = format!(
                        "{} {}",
                        Arc::ptr_eq(&one, &other),
                        weak.ptr_eq(&Arc::downgrade(&other))
                    );
                    self.strong.extend([one, other]);
                    said
                }
            };
            Some(said)
        }

        pub(super) fn look(&self) -> String {
            let mut seen = String::new();
            for arc in &self.strong {
                let counts = (Arc::strong_count(arc), Arc::weak_count(arc));
                write!(seen, "{} {counts:?}; ", arc.number).unwrap();
            }
            for weak in &self.weak {
                let counts = (weak.strong_count(), weak.weak_count());
                write!(seen, "{counts:?}; ").unwrap();
            }
            write!(seen, "{:?}", self.log.borrow()).unwrap();
            seen
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum Operation {
    New(u8),
    NewCyclic(u8),
    WeakNew,
    Clone(usize),
    Drop(usize),
    Downgrade(usize),
    Upgrade(usize),
    CloneWeak(usize),
    DropWeak(usize),
    GetMut(usize, u8),
    MakeMut(usize, u8),
    TryUnwrap(usize),
    IntoInner(usize),
    UnwrapOrClone(usize),
    Raw(usize),
    RawWeak(usize),
    Compare(usize, usize),
}

fn operation() -> impl Strategy<Value = Operation> {
    use Operation as O;
    let which = || 0..8_usize;
    prop_oneof![
        3 => any::<u8>().prop_map(O::New),
        2 => any::<u8>().prop_map(O::NewCyclic),
        1 => Just(O::WeakNew),
        3 => which().prop_map(O::Clone),
        4 => which().prop_map(O::Drop),
        3 => which().prop_map(O::Downgrade),
        3 => which().prop_map(O::Upgrade),
        1 => which().prop_map(O::CloneWeak),
        4 => which().prop_map(O::DropWeak),
        2 => (which(), any::<u8>()).prop_map(|(which, number)| O::GetMut(which, number)),
        2 => (which(), any::<u8>()).prop_map(|(which, number)| O::MakeMut(which, number)),
        1 => which().prop_map(O::TryUnwrap),
        1 => which().prop_map(O::IntoInner),
        1 => which().prop_map(O::UnwrapOrClone),
        1 => which().prop_map(O::Raw),
        1 => which().prop_map(O::RawWeak),
        1 => (which(), which()).prop_map(|(one, other)| O::Compare(one, other)),
    ]
}

proptest! {
    #![proptest_config(cases(4_000, 4))]

    #[test]
    fn every_sequence_of_operations_looks_as_with_std(
        operations in prop::collection::vec(operation(), 0..60)
    ) {
        let (mut std, mut ours) = (on_std::World::default(), on_tenure::World::default());
        for operation in operations {
            prop_assert_eq!(std.apply(operation), ours.apply(operation), "{:?}", operation);
            prop_assert_eq!(std.look(), ours.look(), "{:?}", operation);
        }
    }
}

#[test]
fn a_program_moves_over_by_one_use_line() {
    let report = on_tenure::program();
    assert_eq!(report, on_std::program());
    assert!(report.contains("root/build/test"), "{report}");
}
