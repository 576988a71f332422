//! Findings, ranks and proposals: of programs, and of Linux's routes.

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod alone;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod code;
mod cpp;
mod fuzz;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod locks;
mod own;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod perf;
mod routes;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod together;

use tenure_debuginfo::read::Input;
use tenure_layout::run::{LayoutRequest, run};
use tenure_model::{Finding, Report};

fn request(fixture: &str, types: &[&str]) -> LayoutRequest {
    let path =
        format!("{}/../tenure-debuginfo/tests/fixtures/btf/{fixture}", env!("CARGO_MANIFEST_DIR"));
    LayoutRequest {
        input: Input::File(path.into()),
        types: types.iter().map(|&word| word.to_owned()).collect(),
        all: true,
        top: 1000,
        ..LayoutRequest::default()
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
