//! The bodies of the fuzz targets: bytes are a model that can be analysed or an error of one line, without a panic, an
//! endless loop, or unbounded memory. `tests/ranking/fuzz.rs` runs them over the seeds.

use std::fmt::Display;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use tenure_debuginfo::model::{Model, TypeKind};
use tenure_debuginfo::read::{Input, Options, btf, read};
use tenure_layout::run::{LayoutRequest, of_model};

const KERNEL: &[u8] = include_bytes!("../../../tenure-debuginfo/tests/fixtures/btf/before.btf");
const MODULE: &[u8] = include_bytes!("../../../tenure-debuginfo/tests/fixtures/btf/module.btf");

/// In memory if possible: otherwise the disk sets the pace.
static PATH: LazyLock<PathBuf> = LazyLock::new(|| {
    let shared = Path::new("/dev/shm");
    let folder = if shared.exists() { shared.to_owned() } else { std::env::temp_dir() };
    folder.join(format!("tenure-fuzz-{}", std::process::id()))
});

/// Alone, as a module on a kernel, and as the kernel below a module.
pub fn as_btf(bytes: &[u8]) {
    check(btf::parse(bytes, None));
    check(btf::parse(bytes, Some(KERNEL)));
    check(btf::parse(MODULE, Some(bytes)));
}

pub fn as_file(bytes: &[u8]) {
    if fs::write(&*PATH, bytes).is_ok() {
        check(read(&Input::File(PATH.clone()), &Options::default(), &()));
        let _ = fs::remove_file(&*PATH);
    }
}

/// Types to analyse: most of the time is for the reader.
const LOOKED_AT: usize = 8;

fn check<E: Display>(result: Result<Model, E>) {
    match result {
        Ok(model) => {
            rules(&model);
            analysis(&model);
        }
        Err(error) => {
            let line = error.to_string();
            assert!(!line.is_empty() && !line.contains(char::is_control));
        }
    }
}

/// The rules of the module `model`, on which all code after the readers relies.
fn rules(model: &Model) {
    for (id, ty) in model.iter() {
        assert!(ty.align.is_power_of_two());
        let _ = (model.resolved(id), model.spelled(id), model.holes(id));
        if let TypeKind::Composite { members, .. } = &ty.kind {
            assert!(members.is_sorted_by_key(|member| member.offset));
            for member in members {
                assert!(member.ty.index() < model.types().len());
                assert!(member.bits.is_none_or(|bits| bits.first < 8 && bits.count > 0));
                assert!(member.offset <= ty.size);
            }
        }
    }
    assert!(model.statics().iter().all(|variable| variable.ty.index() < model.types().len()));
}

fn analysis(model: &Model) {
    let names = model.composites().map(|(_, ty, _)| ty.name.to_string());
    let types: Vec<String> = names.filter(|name| !name.is_empty()).take(LOOKED_AT).collect();
    for types in [Vec::new(), types] {
        let request =
            LayoutRequest { types, top: LOOKED_AT, suggest: true, ..LayoutRequest::default() };
        // A name with a star may be any, and one with line breaks is an error of one line.
        let Ok(report) = of_model(model, &request) else { continue };
        for finding in &report.findings {
            assert!((0.0..=100.0).contains(&finding.score) && !finding.victims.is_empty());
        }
        let lines = report.maps.iter().flat_map(|map| &map.lines);
        assert!(lines.flat_map(|line| &line.cells).all(|cell| cell.size > 0));
    }
}
