//! One program, with std's pointers and with ours.

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
    use std::collections::{BTreeMap, HashMap};
    use std::fmt::Write;
    use std::sync::{Mutex, RwLock};

    // A tree of named jobs with links up and down, names interned, settings copied on write.

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
}

#[test]
fn a_program_moves_over_by_one_use_line() {
    let report = on_tenure::program();
    assert_eq!(report, on_std::program());
    assert!(report.contains("root/build/test"), "{report}");
}
