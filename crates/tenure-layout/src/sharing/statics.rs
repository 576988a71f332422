use super::score::ScoreSignals;
use super::{RawFinding, Site, Sufferer, together, weight, worst_first};
use crate::evidence::Uses;
use crate::lines::{LayoutModel, Leaf};
use tenure_debuginfo::model::{Static, TypeId, TypeKind};
use tenure_model::Role;

/// One finding for each line, of all its contended words.
pub(super) fn find(layouts: &LayoutModel<'_>) -> Vec<RawFinding> {
    let statics = layouts.model.statics();
    let mut found: Vec<((&str, u64), Vec<RawFinding>)> = Vec::new();
    for (index, variable) in statics.iter().enumerate() {
        if !has_words(layouts, index) {
            continue;
        }
        let mut before = None;
        let flat = layouts.flat(variable.ty);
        let is_written = |leaf: &Leaf| match leaf.is_whole() {
            true => layouts.roles.is_static_written(index),
            false if layouts.is_standard(variable.ty) => {
                let uses = uses(layouts, index, leaf);
                layouts.evidence.zip(uses).is_some_and(|(it, uses)| it.are_updates(&uses, true))
            }
            false => flat.is_written(layouts, leaf),
        };
        let is_word = |leaf: &&Leaf| leaf.role.is_contended() || is_written(leaf);
        for word in leaves(layouts, index).iter().filter(is_word) {
            // Words of one role on one line have the same neighbours.
            let lines = (layouts.line_of(word.offset), layouts.line_of(word.end() - 1), word.role);
            if before.replace(lines) == Some(lines) {
                continue;
            }
            let victims = neighbours(layouts, index, word);
            if victims.is_empty() {
                continue;
            }
            let code = uses(layouts, index, word).map(|uses| uses.heat(layouts.evidence));
            let strangers = !victims.iter().all(|victim| victim.why.is_guarded());
            let signals =
                ScoreSignals { code, strangers, ..ScoreSignals::new(word.role, &victims) };
            let score = signals.score();
            let site = Site::Statics { index };
            let one = RawFinding { site, word: *word, victims, signals, score };
            let line = (&*variable.section, layouts.line_of(word.offset));
            // Sorted by address: another word of the line is near the end.
            match found.iter_mut().rev().take(64).find(|(at, _)| *at == line) {
                Some((_, others)) => others.push(one),
                None => found.push((line, vec![one])),
            }
        }
    }
    found.into_iter().map(|(_, of_line)| together(of_line)).collect()
}

/// What the code does to a part of a variable.
pub(super) fn uses(layouts: &LayoutModel<'_>, index: usize, leaf: &Leaf) -> Option<Uses> {
    let start = layouts.model.statics()[index].address;
    let inside = leaf.offset.saturating_sub(start);
    Some(layouts.evidence?.of_static(index, inside, leaf.size))
}

/// Whether a variable has words that many CPUs write.
fn has_words(layouts: &LayoutModel<'_>, index: usize) -> bool {
    let ty = layouts.model.statics()[index].ty;
    layouts.roles.of_static(index).map_or_else(
        || is_spread(layouts, ty) || layouts.roles.is_static_written(index),
        Role::is_contended,
    )
}

/// Whether values of a type have words inside.
fn is_spread(layouts: &LayoutModel<'_>, ty: TypeId) -> bool {
    layouts.is_contended(ty) || layouts.is_written_inside(ty)
}

fn leaves(layouts: &LayoutModel<'_>, index: usize) -> Vec<Leaf> {
    let Static { ty, address, .. } = layouts.model.statics()[index];
    let role = layouts.whole(layouts.roles.of_static(index), ty);
    let plain = (!is_spread(layouts, ty)).then_some(Role::Plain);
    if let Some(role) = role.or(plain) {
        return vec![Leaf::whole(ty, address, layouts.size_of(ty), role)];
    }
    let mut leaves = layouts.value(ty);
    leaves.iter_mut().for_each(|leaf| leaf.offset = leaf.offset.saturating_add(address));
    leaves
}

fn neighbours(layouts: &LayoutModel<'_>, index: usize, word: &Leaf) -> Vec<Sufferer> {
    let statics = layouts.model.statics();
    let own = &statics[index];
    let mut victims = Vec::new();
    let word_uses = uses(layouts, index, word);
    // Adds the variable's worst leaf, if it is on a line with the word, and says whether the variable is.
    let mut add = |other: usize| -> bool {
        let variable = &statics[other];
        let size = layouts.size_of(variable.ty);
        let is_near = layouts.share(word.range(), (variable.address, size.max(1)));
        if variable.section != own.section || size == 0 {
            return variable.section == own.section && is_near;
        }
        let overlaps = variable.address < own.address.saturating_add(layouts.size_of(own.ty))
            && own.address < variable.address.saturating_add(size);
        // A marker has nothing to read at run time.
        let kind = &layouts.model[layouts.model.resolved(variable.ty)].kind;
        if !is_near || overlaps || matches!(kind, TypeKind::Function | TypeKind::Opaque) {
            return is_near;
        }
        let near = leaves(layouts, other).into_iter();
        let near = near.filter(|leaf| layouts.share(word.range(), leaf.range()));
        let sufferer = |leaf: Leaf| {
            let seen = uses(layouts, other, &leaf);
            let is_guarded = match word.role {
                Role::Lock | Role::Sequence => {
                    is_of_its_file(own, variable) || is_used_with(word_uses.as_ref(), seen.as_ref())
                }
                role => role == Role::Plain,
            };
            let said = match is_guarded {
                true => weight::of(layouts, word.role, &leaf),
                false => weight::of_stranger(layouts, &leaf),
            };
            let seen = (word_uses.as_ref(), seen.as_ref());
            let one = Sufferer::new(layouts, word.role, &leaf, said?, seen);
            Some(Sufferer { variable: other, ..one })
        };
        // A large variable is one neighbour, whatever its members.
        victims.extend(near.filter_map(sufferer).max_by(|a, b| a.weight.total_cmp(&b.weight)));
        true
    };
    // Past a variable that holds nothing, the next may still be near.
    let _ = (0..index).rev().all(&mut add);
    for (other, variable) in statics.iter().enumerate().skip(index + 1) {
        if !add(other) && variable.address >= word.end() {
            break;
        }
    }
    worst_first(&mut victims);
    victims
}

/// A lock guards variables that are most often used where it is taken.
fn is_used_with(lock: Option<&Uses>, variable: Option<&Uses>) -> bool {
    let share = lock.zip(variable).and_then(|(lock, variable)| variable.used_with(lock));
    share.is_some_and(|share| share >= 0.5)
}

/// And variables of its own file or, where that is not known, of its own module.
fn is_of_its_file(lock: &Static, other: &Static) -> bool {
    let module = |variable: &Static| Some(variable.name.rsplit_once("::")?.0.to_owned());
    match (&lock.declared, &other.declared) {
        (Some(lock), Some(other)) => lock.file == other.file,
        _ => module(lock).is_some_and(|lock| module(other) == Some(lock)),
    }
}
