//! The DWARF reader on files of compilers, and on others.
//!
//! `make.sh` in `tests/fixtures/dwarf` makes the files.

mod assembler;
mod c;
mod containers;
mod hostile;
mod languages;
mod own;

use std::path::{Path, PathBuf};

use tenure_debuginfo::model::{Member, Model, Type, TypeId, TypeKind};
use tenure_debuginfo::read::{Input, Options, read};

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/dwarf").join(name)
}

fn try_read(path: &Path) -> Result<Model, String> {
    read(&Input::File(path.to_owned()), &Options::default(), &()).map_err(|error| error.to_string())
}

fn fixture(name: &str) -> Model {
    try_read(&path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn one<'m>(model: &'m Model, name: &str) -> (TypeId, &'m Type) {
    let all: Vec<_> = model.iter().filter(|(_, ty)| *ty.name == *name).collect();
    assert_eq!(all.len(), 1, "types named {name}");
    all[0]
}

fn members<'m>(model: &'m Model, name: &str) -> &'m [Member] {
    let (_, ty) = one(model, name);
    let TypeKind::Composite { members, .. } = &ty.kind else { panic!("{name} has no members") };
    members
}

/// Members as `offset name`, of bit fields as `offset:first+count name`.
fn shown(model: &Model, name: &str) -> Vec<String> {
    let show = |member: &Member| match member.bits {
        None => format!("{} {}", member.offset, member.name),
        Some(bits) => format!("{}:{}+{} {}", member.offset, bits.first, bits.count, member.name),
    };
    members(model, name).iter().map(show).collect()
}

fn member<'m>(model: &'m Model, name: &str, member: &str) -> &'m Member {
    let all = members(model, name);
    all.iter().find(|one| *one.name == *member).unwrap_or_else(|| panic!("{name}.{member}"))
}
