//! Executables of the compiler at hand: this test's own, with any settings, and small ones.
#![expect(clippy::disallowed_types, reason = "what is looked for is std's")]

use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use tenure_debuginfo::model::TypeKind;

use super::{member, one, try_read};

#[repr(C)]
struct Looked {
    first: AtomicU64,
    second: Mutex<u16>,
    third: [u8; 5],
}

static HERE: Looked = Looked { first: AtomicU64::new(0), second: Mutex::new(0), third: [0; 5] };

#[test]
fn this_executable_holds_the_types_that_it_is_made_of() {
    HERE.first.fetch_add(1, Ordering::Relaxed);
    *HERE.second.lock().unwrap() += u16::from(HERE.third[0]);
    let model = match try_read(&std::env::current_exe().unwrap()) {
        Ok(model) => model,
        // Release builds only have line numbers.
        Err(error) if error.contains("-g") => return,
        Err(error) => panic!("{error}"),
    };
    let (id, looked) = one(&model, "read::dwarf::own::Looked");
    assert_eq!(looked.size, size_of::<Looked>() as u64);
    assert_eq!(looked.align, align_of::<Looked>() as u64);
    let offset = |name| member(&model, "read::dwarf::own::Looked", name).offset;
    assert_eq!(offset("first"), std::mem::offset_of!(Looked, first) as u64);
    assert_eq!(offset("second"), std::mem::offset_of!(Looked, second) as u64);
    assert_eq!(offset("third"), std::mem::offset_of!(Looked, third) as u64);
    let here = model.statics().iter().find(|one| *one.name == *"read::dwarf::own::HERE").unwrap();
    assert_eq!(here.ty, id);
    assert!(here.section.starts_with('.'), "{}", here.section);
    let variants = |kind: &TypeKind| {
        matches!(kind, TypeKind::Composite { shape: tenure_debuginfo::model::Shape::Variants, .. })
    };
    assert!(model.types().iter().filter(|ty| variants(&ty.kind)).count() > 100);
}

/// An incremental build has a unit for each module, and names it without the crate.
#[test]
fn a_crate_is_known_with_its_root_whether_or_not_it_is_built_incrementally() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    std::fs::create_dir(folder.path().join("src")).unwrap();
    write("src/main.rs", "mod counts; fn main() { counts::add(); drop(vec![String::new()]); }");
    write(
        "src/counts.rs",
        "pub struct Counts(u64, u8); static COUNTS: std::sync::Mutex<Counts> = std::sync::Mutex::new(Counts(1, 2));
         pub fn add() { let mut it = COUNTS.lock().unwrap(); it.0 += u64::from(it.1); }",
    );
    for options in [&["-Ccodegen-units=1"][..], &["-Cincremental=incremental"]] {
        let mut rustc = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
        rustc.args(["--edition", "2024", "--crate-name", "counting", "-g", "-o", "counting"]);
        let status = rustc.args(options).arg("src/main.rs").current_dir(folder.path()).status();
        assert!(status.unwrap().success());
        let model = try_read(&folder.path().join("counting")).unwrap();
        let roots: Vec<_> = (model.crates().iter())
            .filter(|(name, _)| &**name == "counting")
            .map(|(_, root)| root.strip_prefix(folder.path().to_str().unwrap()).unwrap_or(root))
            .collect();
        assert_eq!(roots, ["/src/main.rs"], "{options:?}: {:?}", model.crates());
        let ours = (model.crates().iter()).filter(|(_, root)| root.ends_with("/src/main.rs"));
        assert_eq!(ours.count(), 1, "{options:?}: {:?}", model.crates());
    }
}
