//! This test's own executable: Rust, of any compiler and settings.
#![expect(clippy::disallowed_types, reason = "what is looked for is std's")]

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use tenure_types::model::Kind;

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
    let variants = |kind: &Kind| {
        matches!(kind, Kind::Composite { shape: tenure_types::model::Shape::Variants, .. })
    };
    assert!(model.types().iter().filter(|ty| variants(&ty.kind)).count() > 100);
}
