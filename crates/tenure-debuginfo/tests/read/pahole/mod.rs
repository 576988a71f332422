//! Against pahole: every struct of a kernel has the same members, places, size and holes, through DWARF and BTF.
//!
//! `ci/kernel.sh` gets what these tests need and runs them. `TENURE_VMLINUX` is the kernel.

mod output;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use output::{Field, Struct};
use tenure_debuginfo::model::{Format, Member, Model, Shape, TypeId, TypeKind};
use tenure_debuginfo::read::{Input, Options, read};

/// Declared inside functions, where pahole 1.24 does not look: structs of Debian's 6.1.0-50-cloud-amd64.
const IN_FUNCTIONS: [&str; 10] = [
    "__arch_relative_insn",
    "bts_record",
    "h_misc",
    "list_lru_memcg_table",
    "mafield",
    "msr_enumeration",
    "numa_stat",
    "perf_aux_event",
    "sg",
    "syscall_tp_t",
];

#[test]
#[ignore = "needs pahole and a vmlinux with DWARF: run ci/kernel.sh"]
fn every_struct_in_a_kernels_dwarf_is_as_pahole_has_it() {
    let path = std::env::var_os("TENURE_VMLINUX").expect("TENURE_VMLINUX names a vmlinux");
    compare(&PathBuf::from(path), Format::Dwarf);
}

#[test]
#[ignore = "needs pahole and a vmlinux with BTF: run ci/kernel.sh"]
fn every_struct_in_a_kernels_btf_is_as_pahole_has_it() {
    let path = std::env::var_os("TENURE_VMLINUX").expect("TENURE_VMLINUX names a vmlinux");
    compare(&PathBuf::from(path), Format::Btf);
}

#[test]
#[ignore = "needs pahole and a kernel that shows its types: run ci/kernel.sh"]
fn every_struct_of_the_running_kernel_is_as_pahole_has_it() {
    compare(Input::Kernel.path(), Format::Btf);
}

#[test]
#[ignore = "needs a vmlinux with DWARF: run ci/kernel.sh"]
fn a_kernel_reads_the_same_with_any_number_of_threads() {
    let path = std::env::var_os("TENURE_VMLINUX").expect("TENURE_VMLINUX names a vmlinux");
    let options = Options { format: Some(Format::Dwarf), ..Options::default() };
    let read_with = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| read(&Input::File(path.clone().into()), &options, &()).unwrap())
    };
    let first = read_with(1);
    for threads in [2, 2, 7] {
        assert!(read_with(threads) == first, "{threads} threads");
    }
}

/// Compares all structs of a file; prints differences, and the number of equal ones.
fn compare(path: &Path, format: Format) {
    let options = Options { format: Some(format), ..Options::default() };
    let model = read(&Input::File(path.to_owned()), &options, &()).unwrap();
    let theirs = output::of(path, format);
    assert!(theirs.len() > 1000, "pahole shows {} structs", theirs.len());

    let mut ours: BTreeMap<&str, Vec<TypeId>> = BTreeMap::new();
    for (id, ty, _) in model.composites() {
        if matches!(ty.kind, TypeKind::Composite { shape: Shape::Struct, .. })
            && !ty.name.is_empty()
        {
            ours.entry(&ty.name).or_default().push(id);
        }
    }
    let mut differences = Vec::new();
    let (mut equal, mut fields) = (0, 0);
    for one in &theirs {
        // pahole shows a name that the kernel defines more than once only once: one of ours is that one.
        let same_name = ours.get(&*one.name).map_or(&[][..], Vec::as_slice);
        let candidates: Vec<Struct> = same_name.iter().map(|&id| as_shown(&model, id)).collect();
        if candidates.iter().any(|candidate| output::is_same(candidate, one)) {
            equal += 1;
            fields += one.fields.len();
        } else {
            differences.push(difference(one, &candidates));
        }
    }
    let shown: BTreeSet<&str> = theirs.iter().map(|one| &*one.name).collect();
    let hidden = ours.keys().filter(|name| !shown.contains(*name) && !IN_FUNCTIONS.contains(*name));
    differences.extend(hidden.map(|name| format!("pahole does not show {name}")));
    println!("{} {format:?}: {equal} structs equal, {fields} members", path.display());
    let shown: Vec<&String> = differences.iter().take(20).collect();
    assert!(differences.is_empty(), "{} differences, first {shown:#?}", differences.len());
}

fn difference(theirs: &Struct, ours: &[Struct]) -> String {
    let of = |one: &Struct, other: &Struct| {
        let extra: Vec<&Field> =
            one.fields.iter().filter(|field| !other.fields.contains(field)).take(5).collect();
        format!("{} bytes, holes {:?}, {extra:?}", one.size, one.holes())
    };
    let both: Vec<String> = ours
        .iter()
        .map(|ours| format!("ours {}\n    pahole's {}", of(ours, theirs), of(theirs, ours)))
        .collect();
    format!("{}: {} of this name {both:#?}", theirs.name, ours.len())
}

/// With the members of unnamed ones inside it, as pahole lists them.
fn as_shown(model: &Model, id: TypeId) -> Struct {
    let mut fields = Vec::new();
    let ty = &model[id];
    list(model, id, 0, &mut fields);
    Struct { name: ty.name.to_string(), size: ty.size, fields, gaps: bits(&model.holes(id)) }
}

fn bits(holes: &[(u64, u64)]) -> Vec<(u64, u64)> {
    holes.iter().map(|(offset, bytes)| (offset * 8, bytes * 8)).collect()
}

fn list(model: &Model, id: TypeId, base: u64, fields: &mut Vec<Field>) {
    let TypeKind::Composite { members, .. } = &model[id].kind else { return };
    for member in members {
        if let Some(inner) = unnamed(model, member.ty) {
            list(model, inner, base + member.offset, fields);
        }
        fields.push(field(model, member, base));
    }
}

fn unnamed(model: &Model, mut id: TypeId) -> Option<TypeId> {
    loop {
        match &model[id].kind {
            TypeKind::Array { element, .. } | TypeKind::Qualified(_, element) => id = *element,
            TypeKind::Composite { .. } if model[id].name.is_empty() => return Some(id),
            _ => return None,
        }
    }
}

fn field(model: &Model, member: &Member, base: u64) -> Field {
    let offset = base + member.offset;
    match member.bits {
        None => Field {
            name: member.name.to_string(),
            start: offset * 8,
            bits: model[member.ty].size.saturating_mul(8),
            is_bits: false,
        },
        Some(bits) => Field {
            name: member.name.to_string(),
            start: offset * 8 + u64::from(bits.first),
            bits: bits.count.into(),
            is_bits: true,
        },
    }
}
