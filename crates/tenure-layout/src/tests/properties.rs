use std::collections::BTreeMap;

use proptest::prelude::*;

use super::{findings_of, with_layouts};
use crate::fixtures::{Maker, structure};
use crate::sharing;
use crate::suggest::{Pins, each, suggest};
use tenure_debuginfo::model::{
    Builder, Format, Member, Model, Scalar, Shape, Static, Type, TypeId, TypeKind,
};
use tenure_model::{Means, Suggestion, TypeMap, Word};

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

/// Types by name, with the size that their members see.
fn basics(builder: &mut Builder) -> Vec<(TypeId, u64)> {
    let numbers = [("char", 1), ("short", 2), ("int", 4), ("long", 8), ("__int128", 16)];
    let number = |(name, size)| (builder.add(name, size, TypeKind::Scalar(Scalar::Integer)), size);
    let mut all: Vec<_> = numbers.map(number).to_vec();
    let int = all[2].0;
    all.push((builder.add("", 8, TypeKind::Pointer(Some(int))), 8));
    for name in ["atomic_t", "refcount_t", "spinlock_t", "callback_head", "seqcount_t"] {
        all.push((builder.add(name, 4, structure(&[("w", 0, int)])), 4));
    }
    all
}

fn model(recipes: &[Recipe], statics: &[(usize, u64)]) -> Model {
    let mut builder = Builder::new();
    let mut all = basics(&mut builder);
    for (number, recipe) in recipes.iter().enumerate() {
        let pick = |index: usize| all[index % all.len()];
        let member = |place: usize, offset: u64, ty: TypeId| {
            let name = if place % 4 == 3 { String::new() } else { format!("m{place}") };
            Member::new(name, offset, ty)
        };
        let (kind, size) = match recipe {
            Recipe::Struct(parts) | Recipe::Overlapping(parts) => {
                let overlapping = matches!(recipe, Recipe::Overlapping(_));
                let (mut members, mut end) = (Vec::new(), 0_u64);
                for (place, &(part, gap)) in parts.iter().enumerate() {
                    let at = if overlapping { gap } else { end.saturating_add(gap) };
                    let (ty, size) = pick(part);
                    members.push(member(place, at, ty));
                    end = end.max(at.saturating_add(size));
                }
                (TypeKind::Composite { shape: Shape::Struct, members }, end)
            }
            Recipe::Union(parts) => {
                let members = parts.iter().enumerate();
                let members = members.map(|(place, &part)| member(place, 0, pick(part).0));
                let size = parts.iter().map(|&part| pick(part).1).max().unwrap_or(0);
                (TypeKind::Composite { shape: Shape::Union, members: members.collect() }, size)
            }
            Recipe::Array(part, count) => {
                let (element, size) = pick(*part);
                (TypeKind::Array { element, count: *count }, size.saturating_mul(*count))
            }
            Recipe::Alias(part) => (TypeKind::Alias(pick(*part).0), pick(*part).1),
        };
        let name = if number % 3 == 0 { String::new() } else { format!("type_{number}") };
        all.push((builder.add(&name, size, kind), size));
    }
    for (number, &(part, address)) in statics.iter().enumerate() {
        let (name, section) = (format!("variable_{number}").into(), ".data".into());
        let ty = all[part % all.len()].0;
        builder.push_static(Static { name, section, address, ty, declared: None });
    }
    builder.finish(Format::Dwarf, 1).unwrap()
}

/// All proposals of all types.
fn proposals(model: &Model) -> Vec<(&Type, &[Member], Suggestion)> {
    with_layouts(model, |layouts| {
        let each = |(id, ty, members)| {
            let all = each(layouts, id, &Pins::default()).unwrap_or_default();
            all.into_iter().map(move |one| (ty, members, one))
        };
        model.composites().flat_map(each).collect()
    })
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
        for (id, ty, _) in model.composites() {
            let map = with_layouts(&model, |layouts| layouts.map(id));
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
        for (ty, _, found) in proposals(&model) {
            prop_assert!(found.score_after < found.score_before);
            if found.means == Means::Order {
                prop_assert!(found.embedders.iter().all(|one| one.size_after <= one.size_before));
                let grown = found.after.size > ty.size;
                prop_assert!(!grown || !found.embedders.is_empty(), "{:?}", found);
            }
        }
    }

    #[test]
    fn a_proposal_loses_no_member_keeps_alignments_and_costs_what_it_says(model in models()) {
        for (ty, members, found) in proposals(&model) {
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
                // Members of one without a name are spelled as if they were the type's own.
                if only(&found.before, &member.name) != Some(member.offset) {
                    continue;
                }
                let align = model[member.ty].align.min(ty.align).max(1);
                match only(&found.after, &member.name) {
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
    with_layouts(&maker.finish(), |layouts| {
        for id in sharing::find(layouts).iter().filter_map(sharing::RawFinding::type_id) {
            let _ = suggest(layouts, id, &Pins::default());
        }
    });
}
