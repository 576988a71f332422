//! Linux's dst_entry, rtable and rt6_info, before and after their repair in 6.4.

use tenure_debuginfo::read::Input;
use tenure_layout::run::{LayoutRequest, run};
use tenure_model::{Finding, Means, Report, Role, Sharing, Suggestion, TypeMap};

use super::{report, request};

fn of<'f>(findings: &'f [Finding], name: &str) -> Vec<&'f Finding> {
    findings.iter().filter(|finding| finding.type_name == name).collect()
}

fn suffers(findings: &[&Finding], path: &str) -> bool {
    findings.iter().any(|finding| finding.victims.iter().any(|victim| victim.path == path))
}

#[test]
fn before_the_repair_lwtstate_shares_the_line_of_the_count() {
    let report = report(&request("before.btf", &[]));
    let found = of(&report.findings, "dst_entry");
    let [finding] = found.as_slice() else { panic!("{found:#?}") };
    assert_eq!(finding.sharing, Sharing::Within);
    assert_eq!((&*finding.contended.path, finding.contended.offset), ("__refcnt", 64));
    assert_eq!((finding.contended.role, finding.contended.offset / 64), (Role::Count, 1));
    let victim = &finding.victims[0];
    assert_eq!((&*victim.path, victim.offset), ("lwtstate", 80), "the worst of them");
}

#[test]
fn before_the_repair_rt_genid_shares_it_through_the_embedding() {
    let report = report(&request("before.btf", &[]));
    for (name, member, offset) in [("rtable", "rt_genid", 112), ("rt6_info", "from", 112)] {
        let found = of(&report.findings, name);
        let through = found.iter().find(|finding| {
            let Sharing::Embedding { inner, member, offset } = &finding.sharing else {
                return false;
            };
            inner == "dst_entry" && member == "dst" && *offset == 0
        });
        let finding = through.unwrap_or_else(|| panic!("{name}: {found:#?}"));
        assert_eq!(finding.contended.path, "dst.__refcnt");
        let victim = finding.victims.iter().find(|victim| victim.path == member);
        assert_eq!(victim.map(|victim| victim.offset), Some(offset), "{finding:#?}");
        assert!(
            finding.victims.iter().all(|victim| !victim.path.starts_with("dst.")),
            "what is in dst_entry is told there: {finding:#?}"
        );
    }
}

#[test]
fn after_the_repair_neither_does() {
    let report = report(&request("repaired.btf", &[]));
    assert!(!suffers(&of(&report.findings, "dst_entry"), "lwtstate"));
    assert!(!suffers(&of(&report.findings, "rtable"), "rt_genid"));
    assert!(of(&report.findings, "rtable").is_empty(), "{:#?}", report.findings);
}

#[test]
fn the_routes_lead_their_file_and_their_scores_fell_with_the_repair() {
    let score = |fixture: &str| {
        let report = report(&request(fixture, &["dst_entry"]));
        report.findings.first().map_or(0.0, |finding| finding.score)
    };
    assert!(score("repaired.btf") < score("before.btf"));
    let before = report(&request("before.btf", &[]));
    assert!(before.findings[..3].iter().any(|finding| finding.type_name == "dst_entry"));
}

#[test]
fn a_score_is_the_product_of_its_signals() {
    for finding in report(&request("before.btf", &[])).findings {
        let product: f64 = finding.signals.iter().map(|signal| signal.factor).product();
        assert!((finding.score - 100.0 * product).abs() < 1e-9, "{finding:#?}");
        assert!(finding.signals.iter().all(|signal| (0.0..=1.0).contains(&signal.factor)));
        assert!(!finding.victims.is_empty());
    }
}

#[test]
fn a_type_that_was_asked_for_brings_those_that_embed_it() {
    let report = report(&request("before.btf", &["dst_entry"]));
    assert!(!of(&report.findings, "rtable").is_empty());
    assert!(report.maps.iter().any(|map| map.name == "dst_entry"));
    let map = report.maps.iter().find(|map| map.name == "dst_entry").unwrap();
    let covered: u64 = map.lines.iter().flat_map(|line| &line.cells).map(|cell| cell.size).sum();
    assert_eq!(covered, map.size, "{map:#?}");
}

#[test]
fn a_type_that_is_not_there_is_an_error_that_names_one_that_is() {
    let error = run(&request("before.btf", &["dst_entri"]), &()).unwrap_err().to_string();
    assert!(error.contains("dst_entri") && error.contains("`dst_entry`"), "{error}");
}

fn suggestions(types: &[&str], pins: &[&str]) -> Report {
    let pins = pins.iter().map(|&pin| pin.to_owned()).collect();
    report(&LayoutRequest { suggest: true, pins, ..request("before.btf", types) })
}

fn proposal<'r>(report: &'r Report, name: &str) -> &'r Suggestion {
    report.suggestions.iter().find(|one| one.type_name == name).unwrap()
}

/// The lines on which a member lies.
fn lines(map: &TypeMap, path: &str) -> Vec<u64> {
    let on = |line: &&tenure_model::Line| line.cells.iter().any(|cell| cell.path == path);
    map.lines.iter().filter(on).map(|line| line.index).collect()
}

#[test]
fn a_repair_of_dst_entry_and_rtable_is_found_and_rtable_does_not_grow() {
    let report = suggestions(&["dst_entry"], &[]);
    let found = proposal(&report, "dst_entry");
    let line = lines(&found.after, "__refcnt");
    assert_eq!(line.len(), 1);
    assert!(!lines(&found.after, "lwtstate").contains(&line[0]), "{found:#?}");
    assert!(found.score_after < 0.7 * found.score_before, "{found:#?}");

    let rtable = found.embedders.iter().find(|one| one.type_name == "rtable").unwrap();
    assert_eq!(rtable.size_before, 176);
    assert!(rtable.size_after <= 176, "{rtable:#?}");
    let after = rtable.after.as_ref().unwrap();
    let count = lines(after, "dst.__refcnt");
    assert!(!lines(after, "rt_genid").contains(&count[0]), "{rtable:#?}");
    assert_eq!(after.size, rtable.size_after);
    assert_eq!((found.means, found.price), (Means::Order, 0));
    for embedder in &found.embedders {
        assert!(embedder.size_after <= embedder.size_before, "{embedder:#?}");
    }
}

#[test]
fn a_pinned_member_and_all_before_it_stay() {
    let report = suggestions(&["dst_entry"], &["dst_entry.lwtstate"]);
    for one in report.suggestions.iter().filter(|one| one.type_name == "dst_entry") {
        assert_eq!(lines(&one.after, "lwtstate"), lines(&one.before, "lwtstate"));
        assert!(one.moves.iter().all(|one| one.from > 80 && one.to > 80), "{one:#?}");
    }
}

#[test]
fn a_pin_that_names_nothing_is_an_error() {
    let pins = vec!["dst_entry.nothing".to_owned()];
    let request = LayoutRequest { pins, ..request("before.btf", &[]) };
    let error = run(&request, &()).unwrap_err().to_string();
    assert!(error.contains("dst_entry.nothing"), "{error}");
}

#[test]
fn the_embedded_struct_stays_at_the_start() {
    let report = suggestions(&["rtable"], &[]);
    let found = proposal(&report, "rtable");
    assert_eq!(found.order[0], "dst");
    assert!(found.moves.iter().all(|one| one.member != "dst"));
}

#[test]
fn the_same_input_gives_the_same_proposal() {
    assert_eq!(suggestions(&[], &[]).suggestions, suggestions(&[], &[]).suggestions);
}

#[test]
fn a_type_that_cannot_be_fixed_says_why() {
    let report = report(&LayoutRequest { suggest: true, ..request("repaired.btf", &[]) });
    for one in &report.unfixed {
        assert!(one.why.ends_with('.') && one.why.contains(&one.type_name), "{one:?}");
    }
}

#[test]
fn what_order_does_not_fix_has_a_price_for_each_object() {
    let report = suggestions(&["dst_entry"], &[]);
    let found = proposal(&report, "dst_entry");
    assert_eq!(found.means, Means::Order);
    let of = |means: Means| found.alternatives.iter().find(|other| other.means == means).unwrap();
    // 108 bytes of others fill two lines, and the count has the third.
    let aligned = of(Means::Align);
    assert_eq!((aligned.size, aligned.price), (192, 80));
    assert!(aligned.score_after < found.score_after, "{aligned:?}");
    let said = "Give `__refcnt` lines of its own, aligned to 64 bytes: dst_entry goes from 112 to 192 bytes, +80 an object.";
    assert_eq!(aligned.summary, said);
    // The pointer takes four bytes more than the count, which no hole of that size follows; and the count takes a line.
    let split = of(Means::Split);
    assert_eq!((split.size, split.price), (120, 72));
}

/// The path of Linux 6.1's vmlinux with debugging information: see `ci/kernel.sh`.
const VMLINUX: &str = "TENURE_VMLINUX";

#[test]
#[ignore = "needs 600 MB of Debian's kernel: ci/kernel.sh"]
fn among_the_types_of_linux_6_1_s_network_the_routes_rank_high() {
    let path = std::env::var_os(VMLINUX).expect("the path of a vmlinux of Linux 6.1");
    let mut request = request("", &[]);
    request.input = Input::File(path.into());
    request.declared_in =
        ["*include/net/*", "net/*", "*include/linux/skbuff.h", "*include/linux/netdevice.h"]
            .map(str::to_owned)
            .to_vec();
    request.top = usize::MAX;
    let report = report(&request);
    let place = |name: &str| {
        let is = |finding: &Finding| finding.type_name == name;
        1 + report.findings.iter().position(is).unwrap_or_else(|| panic!("{name}"))
    };
    let (dst_entry, rtable, rt6_info) = (place("dst_entry"), place("rtable"), place("rt6_info"));
    println!(
        "of {}: dst_entry {dst_entry}, rtable {rtable}, rt6_info {rt6_info}",
        report.findings.len()
    );
    assert!(report.findings.len() > 150);
    assert!(dst_entry <= 15 && rtable <= 30 && rt6_info <= 50, "{dst_entry}, {rtable}, {rt6_info}");
}

#[test]
fn on_the_running_kernel_a_repaired_route_is_not_reported_again() {
    let mut request = request("", &["dst_entry", "rtable"]);
    request.input = Input::Kernel;
    if !request.input.path().exists() {
        println!("not run: {} is missing", request.input.path().display());
        return;
    }
    let report = report(&request);
    let offset = |path: &str| {
        let cells = report.maps.iter().filter(|map| map.name == "dst_entry");
        let mut cells = cells.flat_map(|map| &map.lines).flat_map(|line| &line.cells);
        cells.find(|cell| cell.path == path).map(|cell| cell.offset)
    };
    // `__rcuref` came with the repair.
    let repaired = offset("__rcuref").is_some();
    assert_eq!(suffers(&of(&report.findings, "dst_entry"), "lwtstate"), !repaired);
    assert_eq!(suffers(&of(&report.findings, "rtable"), "rt_genid"), !repaired);
}
