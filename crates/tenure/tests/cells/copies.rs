//! Pointers that come to another copy of the library, which has cells of its own.

use std::panic::{AssertUnwindSafe, catch_unwind};
use tenure::cells::{Table, ThreadRef};

fn refusal(act: impl FnOnce()) -> String {
    let panic = catch_unwind(AssertUnwindSafe(act)).expect_err("it is refused");
    *panic
        .downcast::<String>()
        .unwrap_or_else(|panic| Box::new(panic.downcast::<&str>().unwrap().to_string()))
}

#[test]
fn a_count_of_another_table_is_refused_and_has_not_changed() {
    type Act = unsafe fn(ThreadRef, &Table<tenure::memory::Native>);
    let others = Table::new_in();
    let count = ThreadRef::new_in(&others);
    let acts: [Act; 4] = [
        // SAFETY: refused.
        |count, table| unsafe { count.get(table) },
        // SAFETY: as above.
        |count, table| unsafe { _ = count.put(table) },
        // SAFETY: as above.
        |count, table| unsafe { _ = count.kill(table) },
        // SAFETY: as above.
        |count, table| unsafe { drop(ThreadRef::kill_all(table, vec![count], |&count| count)) },
    ];
    for act in acts {
        // SAFETY: the table is not the count's, and that is seen before anything happens.
        let said = refusal(|| unsafe { act(count, Table::global()) });
        assert!(said.contains("of another copy of the crate `tenure`"), "{said}");
    }
    // SAFETY: the count's own table.
    unsafe {
        count.get(&others);
        assert!(!count.put(&others).is_last() && count.kill(&others).is_last());
        let said = refusal(|| count.retire(Table::global()));
        assert!(said.contains("of another copy of the crate `tenure`"), "{said}");
        count.retire(&others);
    }
}

#[test]
#[cfg(debug_assertions)]
fn a_count_of_another_table_is_refused_where_the_thread_has_a_cell() {
    let (others, global) = (Table::new_in(), Table::global());
    // So many that one of each kind has a place of the same number.
    let foreign = Vec::from_iter((0..64).map(|_| ThreadRef::new_in(&others)));
    let own = Vec::from_iter((0..8).map(|_| ThreadRef::new_in(global)));
    // SAFETY: the counts' own table.
    own.iter().for_each(|count| unsafe { count.get(global) });
    for count in &foreign {
        // SAFETY: the table is not the count's, and that is seen before anything happens.
        refusal(|| unsafe { count.get(global) });
    }
    for count in own {
        // SAFETY: the count's own table.
        unsafe {
            assert!(!count.put(global).is_last());
            assert!(count.kill(global).is_last());
            count.retire(global);
        }
    }
    for count in foreign {
        // SAFETY: the count's own table.
        unsafe {
            assert!(count.kill(&others).is_last());
            count.retire(&others);
        }
    }
}

/// A plugin that is linked with the library, and so has a copy of it.
#[cfg(all(target_os = "linux", not(any(miri, sanitized))))]
mod plugin {
    use std::ffi::{CStr, CString};
    use std::path::{Path, PathBuf};
    use std::process::Command;
    use std::time::SystemTime;
    use std::{env, fs, mem};
    use tenure::owner::{Owner, Shared};

    const SOURCE: &str = r"
        use std::panic::{AssertUnwindSafe, catch_unwind};
        use tenure::owner::{Owner, Shared};

        fn is_refused<R>(act: impl FnOnce() -> R) -> bool {
            catch_unwind(AssertUnwindSafe(act)).is_err()
        }

        #[unsafe(no_mangle)]
        extern fn clone_is_refused(shared: &Shared<u64>) -> bool {
            is_refused(|| shared.clone())
        }

        #[unsafe(no_mangle)]
        extern fn close_is_refused(owner: &Owner<u64>) -> bool {
            is_refused(|| owner.share()) && is_refused(|| owner.close())
        }

        // What the plugin has itself is its own.
        #[unsafe(no_mangle)]
        extern fn own_is_right() -> bool {
            let owner = Owner::new(5);
            let shared = owner.share();
            drop(owner);
            *shared.clone() == 5
        }
    ";

    /// The library as it was compiled for this test, or for one beside it: the newest that the compiler takes.
    fn compile(directory: &Path) -> PathBuf {
        let (source, plugin) = (directory.join("plugin.rs"), directory.join("plugin.so"));
        fs::write(&source, SOURCE).unwrap();
        let beside = env::current_exe().unwrap().parent().unwrap().to_owned();
        let libraries = fs::read_dir(&beside).unwrap().map(|entry| entry.unwrap().path());
        let is_library = |path: &PathBuf| {
            let name = path.file_name().unwrap().to_string_lossy();
            name.starts_with("libtenure-") && name.ends_with(".rlib")
        };
        let mut libraries = Vec::from_iter(libraries.filter(is_library));
        let age = |path: &PathBuf| {
            SystemTime::now().duration_since(path.metadata().ok()?.modified().ok()?).ok()
        };
        libraries.sort_by_key(age);
        let mut said = String::from("there is no library");
        for library in &libraries {
            let compiled = Command::new(Path::new(env!("CARGO")).with_file_name("rustc"))
                .args(["--edition=2024", "--crate-type=cdylib", "-o"])
                .args([&plugin, &source])
                .arg(format!("--extern=tenure={}", library.display()))
                .arg(format!("-Ldependency={}", beside.display()))
                .output()
                .unwrap();
            if compiled.status.success() {
                return plugin;
            }
            said = String::from_utf8_lossy(&compiled.stderr).into_owned();
        }
        panic!("the plugin cannot be compiled: {said}");
    }

    struct Plugin(*mut libc::c_void);

    impl Plugin {
        fn load(path: &Path) -> Self {
            let path = CString::new(path.to_str().unwrap()).unwrap();
            // SAFETY: a string that ends; the plugin does nothing when it is loaded.
            let plugin = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
            assert!(!plugin.is_null());
            Self(plugin)
        }

        /// # Safety
        ///
        /// `F` is a pointer to a function of the type that the plugin has under that name.
        unsafe fn function<F: Copy>(&self, name: &CStr) -> F {
            // SAFETY: a handle of `dlopen`, and a string that ends.
            let found = unsafe { libc::dlsym(self.0, name.as_ptr()) };
            assert!(!found.is_null(), "{name:?}");
            // SAFETY: the caller's promise.
            unsafe { mem::transmute_copy(&found) }
        }
    }

    #[test]
    fn a_pointer_that_comes_to_a_plugin_is_refused_there() {
        let directory = env::temp_dir().join(format!("tenure-copies-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        let plugin = Plugin::load(&compile(&directory));
        fs::remove_dir_all(&directory).unwrap();

        let owner = Owner::new(7_u64);
        let shared = owner.share();
        // SAFETY: the types of the plugin's source. Both have one compiler's library, so the types agree.
        unsafe {
            let clone = plugin.function::<extern "C" fn(&Shared<u64>) -> bool>(c"clone_is_refused");
            let close = plugin.function::<extern "C" fn(&Owner<u64>) -> bool>(c"close_is_refused");
            let own = plugin.function::<extern "C" fn() -> bool>(c"own_is_right");
            assert!(clone(&shared) && close(&owner) && own());
        }
        drop((owner.close(), owner));
        assert_eq!(*shared.clone(), 7);
    }
}
