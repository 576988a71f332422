use proptest::prelude::*;
use std::collections::BTreeMap;
use tenure_layout::knowledge::Knowledge;
use tenure_layout::lines::LayoutModel;
use tenure_layout::sharing;
use tenure_layout::suggest::{Pins, each, suggest};
use tenure_model::{Means, TypeMap, Word};
use tenure_types::model::{Builder, Format, Kind, Member, Model, Scalar, Shape, Static, TypeId};

use super::{Maker, findings_of};

#[derive(Debug, Clone)]
enum Recipe {
    Struct(Vec<(usize, u64)>),
    Union(Vec<usize>),
    Array(usize, u64),
    Alias(usize),
    Overlapping(Vec<(usize, u64)>),
}

fn recipe() -> impl Strategy<Value = Recipe> {
    let part = any::<prop::sample::Index>().prop_map(|index| index.index(1 << 16));
    let gap = prop_oneof![4 => Just(0_u64), 1 => 0..100_u64];
    let members = prop::collection::vec((part.clone(), gap), 0..12);
    prop_oneof![
        5 => members.clone().prop_map(Recipe::Struct),
        1 => prop::collection::vec(part.clone(), 0..5).prop_map(Recipe::Union),
        1 => (part.clone(), prop_oneof![0..6_u64, Just(1 << 40)]).prop_map(|(part, count)| Recipe::Array(part, count)),
        1 => part.prop_map(Recipe::Alias),
        1 => members.prop_map(Recipe::Overlapping),
    ]
}

fn basics(builder: &mut Builder) -> Vec<TypeId> {
    let mut ids = Vec::new();
    for (name, size) in [("char", 1), ("short", 2), ("int", 4), ("long", 8), ("__int128", 16)] {
        ids.push(builder.add(name, size, Kind::Scalar(Scalar::Integer)));
    }
    let pointer = builder.add("", 8, Kind::Pointer(Some(ids[2])));
    let word =
        |ty| Kind::Composite { shape: Shape::Struct, members: vec![Member::new("w", 0, ty)] };
    let int = ids[2];
    ids.push(pointer);
    for name in ["atomic_t", "refcount_t", "spinlock_t", "callback_head", "seqcount_t"] {
        ids.push(builder.add(name, 4, word(int)));
    }
    ids
}

fn model(recipes: &[Recipe], statics: &[(usize, u64)]) -> Model {
    let mut builder = Builder::new();
    let mut ids = basics(&mut builder);
    let mut sizes: Vec<u64> = vec![1, 2, 4, 8, 16, 8, 4, 4, 4, 4, 4];
    for (number, recipe) in recipes.iter().enumerate() {
        let pick = |index: usize| index % ids.len();
        let name = if number % 3 == 0 { String::new() } else { format!("type_{number}") };
        let member = |place: usize, offset: u64, of: usize| {
            let name = if place % 4 == 3 { String::new() } else { format!("m{place}") };
            Member::new(name, offset, ids[of])
        };
        let (kind, size) = match recipe {
            Recipe::Struct(parts) | Recipe::Overlapping(parts) => {
                let overlapping = matches!(recipe, Recipe::Overlapping(_));
                let (mut members, mut end) = (Vec::new(), 0_u64);
                for (place, &(part, gap)) in parts.iter().enumerate() {
                    let at = if overlapping { gap } else { end.saturating_add(gap) };
                    members.push(member(place, at, pick(part)));
                    end = end.max(at.saturating_add(sizes[pick(part)]));
                }
                (Kind::Composite { shape: Shape::Struct, members }, end)
            }
            Recipe::Union(parts) => {
                let members =
                    parts.iter().enumerate().map(|(place, &part)| member(place, 0, pick(part)));
                let size = parts.iter().map(|&part| sizes[pick(part)]).max().unwrap_or(0);
                (Kind::Composite { shape: Shape::Union, members: members.collect() }, size)
            }
            Recipe::Array(part, count) => {
                let of = pick(*part);
                (Kind::Array { element: ids[of], count: *count }, sizes[of].saturating_mul(*count))
            }
            Recipe::Alias(part) => (Kind::Alias(ids[pick(*part)]), sizes[pick(*part)]),
        };
        let id = builder.add(&name, size, kind);
        ids.push(id);
        sizes.push(size);
    }
    for (number, &(part, address)) in statics.iter().enumerate() {
        builder.push_static(Static {
            name: format!("variable_{number}").into(),
            section: ".data".into(),
            address,
            ty: ids[part % ids.len()],
            declared: None,
        });
    }
    builder.finish(Format::Dwarf, 1).unwrap()
}

fn models() -> impl Strategy<Value = Model> {
    let statics =
        prop::collection::vec((0..1000_usize, prop_oneof![0..512_u64, Just(u64::MAX)]), 0..8);
    (prop::collection::vec(recipe(), 0..24), statics)
        .prop_map(|(recipes, statics)| model(&recipes, &statics))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn maps_cover_their_lines_without_overlaps(model in models()) {
        let roles = Knowledge::builtin().roles(&model);
        let layouts = LayoutModel::new(&model, &roles, 64);
        for (id, ty, _) in model.composites() {
            let map = layouts.map(id);
            prop_assert_eq!(map.size, ty.size);
            for line in &map.lines {
                let start = line.index * 64;
                let mut at = start;
                for cell in &line.cells {
                    prop_assert_eq!(cell.offset, at);
                    prop_assert!(cell.size > 0);
                    at += cell.size;
                }
                prop_assert_eq!(at, map.size.min(start.saturating_add(64)));
            }
        }
    }

    #[test]
    fn findings_are_in_order_and_their_pairs_share_a_line(model in models()) {
        let findings = findings_of(&model);
        prop_assert!(findings.windows(2).all(|pair| pair[0].score >= pair[1].score));
        for finding in &findings {
            prop_assert!((0.0..=100.0).contains(&finding.score));
            prop_assert!((0.0..=1.0).contains(&finding.confidence.placements));
            if finding.sharing != tenure_model::Sharing::Within {
                continue;
            }
            let last = |offset: i64, size: u64| offset.saturating_add_unsigned(size - 1) / 64;
            let near = |a: &Word, b: &Word| {
                a.offset / 64 <= last(b.offset, b.size) && b.offset / 64 <= last(a.offset, a.size)
            };
            for victim in &finding.victims {
                // A word across two lines also hurts those beside its second half.
                let culprits = finding.words().into_iter().filter(|word| word.role.is_contended());
                let hurts = |word: &Word| word != victim && near(word, victim);
                prop_assert!(culprits.into_iter().any(hurts), "{:?}", finding);
            }
        }
    }

    #[test]
    fn an_order_makes_no_type_larger_and_every_proposal_scores_lower(model in models()) {
        let roles = Knowledge::builtin().roles(&model);
        let layouts = LayoutModel::new(&model, &roles, 64);
        for (id, ty, _) in model.composites() {
            for found in each(&layouts, id, &Pins::default()).unwrap_or_default() {
                prop_assert!(found.score_after < found.score_before);
                if found.means == Means::Order {
                    prop_assert!(found.embedders.iter().all(|one| one.size_after <= one.size_before));
                    let grown = found.after.size > ty.size;
                    prop_assert!(!grown || !found.embedders.is_empty(), "{:?}", found);
                }
            }
        }
    }

    #[test]
    fn a_proposal_loses_no_member_keeps_alignments_and_costs_what_it_says(model in models()) {
        let roles = Knowledge::builtin().roles(&model);
        let layouts = LayoutModel::new(&model, &roles, 64);
        for (id, ty, members) in model.composites() {
            for found in each(&layouts, id, &Pins::default()).unwrap_or_default() {
                let grown = i128::from(found.after.size) - i128::from(ty.size);
                let held = i128::from(found.price) - grown;
                // What is split off takes lines.
                prop_assert_eq!(held > 0, found.means == Means::Split);
                prop_assert_eq!(held % 64, 0);
                prop_assert!(found.after.size.is_multiple_of(found.after.align.max(1)));
                let only = |map: &TypeMap, name: &str| {
                    let cells = map.lines.iter().flat_map(|line| &line.cells);
                    let mut named = cells.filter(|cell| cell.path == name && !cell.continued);
                    named.next().map(|cell| cell.offset).filter(|_| named.next().is_none())
                };
                let mut gone = 0;
                for member in members.iter().filter(|member| !member.name.is_empty()) {
                    let now = only(&found.after, &member.name);
                    // Members of one without a name are spelled as if they were the type's own.
                    let is_own = only(&found.before, &member.name) == Some(member.offset);
                    let align = model[member.ty].align.min(ty.align).max(1);
                    if !is_own {
                        continue;
                    }
                    match now {
                        Some(now) => prop_assert_eq!(now % align, 0, "{:?}", found),
                        None => gone += model.bytes_of(member),
                    }
                }
                // Only what is split off is gone, and it has room in the lines that it takes.
                prop_assert!(i128::from(gone) <= held, "{:?}", found);
                // A larger member's map leaves lines out.
                if found.means != Means::Split && ty.size <= 512 {
                    let bytes = |map: &TypeMap| {
                        let mut sums: BTreeMap<String, u64> = BTreeMap::new();
                        for cell in map.lines.iter().flat_map(|line| &line.cells).filter(|cell| !cell.hole) {
                            *sums.entry(cell.path.clone()).or_default() += cell.size;
                        }
                        sums
                    };
                    // A byte under two members would be one of them alone.
                    prop_assert_eq!(bytes(&found.before), bytes(&found.after), "{:?}", found);
                }
            }
        }
    }
}

#[test]
fn types_that_double_do_not_take_for_ever() {
    let mut maker = Maker::new();
    let mut inner = maker.count;
    // More leaves than one type is spread out into.
    for depth in 0..17 {
        inner = maker.add(&format!("s{depth}"), 64, &[("a", 0, inner), ("b", 4, inner)]);
    }
    let members: Vec<_> = (0..20_000).map(|at| ("m", 4 * at, maker.count)).collect();
    maker.add("long", 80_000, &members);
    let model = maker.finish();
    let roles = Knowledge::builtin().roles(&model);
    let layouts = LayoutModel::new(&model, &roles, 64);
    for found in sharing::find(&layouts) {
        if let Some(id) = found.type_id() {
            let _ = suggest(&layouts, id, &Pins::default());
        }
    }
}
