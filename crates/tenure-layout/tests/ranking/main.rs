//! Findings, ranks and proposals: on the layouts of Linux's routes, and on models made for one claim each.

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod alone;
mod claims;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod code;
mod cpp;
mod fuzz;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod locks;
mod own;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod perf;
mod properties;
mod routes;
mod suggestions;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod together;

use tenure_layout::knowledge::Knowledge;
use tenure_layout::lines::LayoutModel;
use tenure_layout::run::{LayoutRequest, run};
use tenure_layout::sharing;
use tenure_model::{Finding, Report};
use tenure_types::model::{Builder, Format, Kind, Member, Model, Scalar, Shape, TypeId};
use tenure_types::read::{Input, Options};

fn request(fixture: &str, types: &[&str]) -> LayoutRequest {
    let path =
        format!("{}/../tenure-types/tests/fixtures/btf/{fixture}", env!("CARGO_MANIFEST_DIR"));
    LayoutRequest {
        input: Input::File(path.into()),
        options: Options::default(),
        types: types.iter().map(|&word| word.to_owned()).collect(),
        declared_in: Vec::new(),
        all: true,
        top: 1000,
        suggest: false,
        pins: Vec::new(),
        rules: Vec::new(),
        check: None,
        code: false,
        perf: None,
        line_bytes: 64,
    }
}

fn report(request: &LayoutRequest) -> Report {
    run(request, &()).unwrap().1
}

#[track_caller]
fn find<'f>(report: &'f Report, what: &str, wanted: impl Fn(&Finding) -> bool) -> &'f Finding {
    let found = report.findings.iter().find(|finding| wanted(finding));
    found.unwrap_or_else(|| panic!("{what}: not among {} findings", report.findings.len()))
}

fn with_layouts<R>(model: &Model, look: impl FnOnce(&LayoutModel<'_>) -> R) -> R {
    let roles = Knowledge::builtin().roles(model);
    look(&LayoutModel::new(model, &roles, 64))
}

fn findings_of(model: &Model) -> Vec<Finding> {
    with_layouts(model, |layouts| {
        let found = sharing::find(layouts);
        let ranked: Vec<_> = (1..).zip(&found).collect();
        sharing::findings(layouts, &ranked)
    })
}

struct Maker {
    builder: Builder,
    int: TypeId,
    pointer: TypeId,
    count: TypeId,
    lock: TypeId,
}

impl Maker {
    fn new() -> Self {
        let mut builder = Builder::new();
        let int = builder.add("int", 4, Kind::Scalar(Scalar::Integer));
        let pointer = builder.add("", 8, Kind::Pointer(None));
        let count = builder.add("refcount_t", 4, composite(Shape::Struct, &[("refs", 0, int)]));
        let lock = builder.add("spinlock_t", 4, composite(Shape::Struct, &[("word", 0, int)]));
        Self { builder, int, pointer, count, lock }
    }

    fn add(&mut self, name: &str, size: u64, members: &[(&str, u64, TypeId)]) -> TypeId {
        self.builder.add(name, size, composite(Shape::Struct, members))
    }

    fn finish(self) -> Model {
        self.builder.finish(Format::Btf, 1).unwrap()
    }
}

fn composite(shape: Shape, members: &[(&str, u64, TypeId)]) -> Kind {
    let members = members.iter().map(|&(name, offset, ty)| Member::new(name, offset, ty)).collect();
    Kind::Composite { shape, members }
}
