//! Repairs for neighbours that no type holds: elements of an array, and variables.

use super::units::LayoutUnits;
use crate::lines::LayoutModel;
use crate::origin::TypeOrigins;
use crate::sharing::{Array, RawFinding, Site};
use tenure_advise::layout::{ElementChange, aligned_array, more, padded_elements};
use tenure_advise::repair::RemedyOf;
use tenure_debuginfo::model::{Declared, Format, Model, TypeId, TypeKind};
use tenure_debuginfo::names;
use tenure_model::{Declaration, Language, Origin, Remedy, Repair, Target};

/// Lines of their own for the elements or variables of a finding. Members of a type are for [`suggest`](super::suggest).
pub(crate) fn apart(
    layouts: &LayoutModel<'_>,
    origins: &TypeOrigins<'_>,
    found: &RawFinding,
) -> Option<Repair> {
    match found.site {
        Site::Type { .. } => None,
        Site::Elements { array, element, stride, count } => {
            let padded = stride.checked_next_multiple_of(layouts.line_bytes)?;
            let elements = ArrayElements { layouts, array, element, stride, count, padded };
            Some(match padded == stride {
                true => elements.aligned(),
                false => elements.padded(origins, found.word.is_whole()),
            })
        }
        Site::Statics { index } => variables(layouts, found, index),
    }
}

struct ArrayElements<'a, 'm> {
    layouts: &'a LayoutModel<'m>,
    array: Array,
    element: TypeId,
    stride: u64,
    /// The number of elements; 0 if any.
    count: u64,
    /// The stride in whole lines.
    padded: u64,
}

impl ArrayElements<'_, '_> {
    /// Elements of whole lines, of which the first does not begin one.
    fn aligned(&self) -> Repair {
        let (layouts, line) = (self.layouts, self.layouts.line_bytes);
        let (cost, bytes) = match self.array {
            Array::Member { owner, member } => {
                self.grown(owner, member, self.stride.saturating_mul(self.count))
            }
            Array::Static(_) | Array::Pointed => {
                let bytes = gap(layouts, self.element);
                (format!("{} at most", more(bytes)), bytes)
            }
        };
        repair(aligned_array(line, self.stride, &cost), Vec::new(), &self.elements(), bytes)
    }

    fn padded(&self, origins: &TypeOrigins<'_>, is_whole: bool) -> Repair {
        let (line, ty) = (self.layouts.line_bytes, &self.layouts.model[self.element]);
        let is_nameless = self.is_nameless();
        let is_yours =
            is_nameless || origins.origin(&ty.name, ty.declared.as_ref()) == Origin::Yours;
        // Neither a number nor another's type can be aligned where it is declared.
        let is_wrapped = is_whole || !is_yours;
        let name = self.layouts.spelled(self.element);
        let (change, target) = match (is_wrapped, is_nameless) {
            (true, _) => (ElementChange::Wrap, self.target(is_yours)),
            (false, true) => (ElementChange::AlignNameless, self.target(is_yours)),
            (false, false) => (ElementChange::Align(&name), self.elements()),
        };
        let (cost, bytes) = self.price(!is_wrapped && !is_nameless);
        let sizes = (self.stride, self.padded);
        let text = padded_elements(change, line, sizes, self.count, &cost);
        repair(text, Vec::new(), &target, bytes)
    }

    /// Elements that keep their declaration: no code is written.
    fn elements(&self) -> Target {
        let line_bytes = self.layouts.line_bytes;
        let declaration = Some(Declaration::Elements { type_name: String::new() });
        Target { line_bytes, declaration, object: self.object(), ..Target::default() }
    }

    /// The array's variable, or the type of its elements.
    fn object(&self) -> String {
        match self.array {
            Array::Static(index) => self.layouts.model.statics()[index].name.to_string(),
            Array::Member { .. } | Array::Pointed => self.layouts.spelled(self.element),
        }
    }

    /// The price in words and in bytes. A type that is aligned may have other arrays.
    fn price(&self, of_type: bool) -> (String, u64) {
        let each = self.padded - self.stride;
        let all = each.saturating_mul(self.count);
        match self.array {
            _ if self.count == 0 => (format!("{} each", more(each)), each),
            Array::Member { owner, .. } if of_type => {
                let owner = self.layouts.spelled(owner);
                (format!("{} in this array of each `{owner}`", more(all)), all)
            }
            Array::Member { owner, member } => {
                self.grown(owner, member, self.padded.saturating_mul(self.count))
            }
            _ if of_type => (format!("{} in this array", more(all)), all),
            _ => (format!("{} in all", more(all)), all),
        }
    }

    /// What the array's owner grows by if the array begins a line and has so many bytes.
    fn grown(&self, owner: TypeId, member: usize, array: u64) -> (String, u64) {
        let (layouts, line) = (self.layouts, self.layouts.line_bytes);
        let (ty, size) = (&layouts.model[owner], layouts.size_of(owner));
        let is_in_order =
            language(layouts, &ty.name, ty.declared.as_ref()).is_some_and(Language::is_c_family);
        let units = is_in_order.then(|| LayoutUnits::of(layouts, owner, &|_| false).ok()).flatten();
        let (most, bytes) = match units {
            Some(all) => {
                let mut end = 0_u64;
                for unit in &all.units {
                    end = match unit.members.contains(&member) {
                        true => end.next_multiple_of(line.max(unit.align)).saturating_add(array),
                        false => unit.start(end).saturating_add(unit.size),
                    };
                }
                let end = end.checked_next_multiple_of(all.align.max(line)).unwrap_or(end);
                ("", end.saturating_sub(size))
            }
            // All that follows moves by whole lines.
            None => {
                let more = array.saturating_sub(self.stride.saturating_mul(self.count));
                let lines = more.div_ceil(line).saturating_add(1).saturating_mul(line);
                let end = size.saturating_add(lines);
                (" at most", end.checked_next_multiple_of(line).unwrap_or(end) - size)
            }
        };
        (format!("{}{most} in each `{}`", more(bytes), layouts.spelled(owner)), bytes)
    }

    /// Whether the source does not name the elements' type: the model calls it by what holds it.
    fn is_nameless(&self) -> bool {
        let model = self.layouts.model;
        let name = &model[self.element].name;
        // The model names a struct without a name by a pointer's owner and member, or by its variable.
        let is_variables = match self.array {
            Array::Static(index) => model.statics()[index].name == *name,
            Array::Member { .. } | Array::Pointed => false,
        };
        let is_c = || language(self.layouts, name, model[self.element].declared.as_ref());
        name.is_empty()
            || is_variables
            || (name.contains('.') && is_c().is_some_and(Language::is_c_family))
    }

    /// The array of elements that are aligned; without a declaration if the source does not tell it.
    fn target(&self, is_yours: bool) -> Target {
        let (model, line_bytes) = (self.layouts.model, self.layouts.line_bytes);
        let unknown = Target { line_bytes, object: self.object(), ..Target::default() };
        let (path, declared) = match self.array {
            Array::Static(index) => {
                let variable = &model.statics()[index];
                (&variable.name, variable.declared.as_ref())
            }
            Array::Member { owner, .. } => (&model[owner].name, model[owner].declared.as_ref()),
            // Another's type does not tell who points to it.
            Array::Pointed if !is_yours => return unknown,
            Array::Pointed => (&model[self.element].name, model[self.element].declared.as_ref()),
        };
        let language = language(self.layouts, path, declared);
        let array = |name: &str, ty, is_variable| {
            let counts = counts(model, ty, self.element)?;
            Some(Declaration::Array { name: name.to_owned(), counts, is_variable })
        };
        let declaration = match self.array {
            Array::Static(index) => array(names::last(path), model.statics()[index].ty, true),
            Array::Member { owner, member } => {
                let member = model[owner].kind.members().get(member);
                member.and_then(|member| array(&member.name, member.ty, false))
            }
            Array::Pointed => Some(Declaration::Boxed),
        };
        Target { language, line_bytes, declaration, object: self.object(), ..Target::default() }
    }
}

/// How many elements an array has, the outermost first; `None` if any has any number.
fn counts(model: &Model, mut at: TypeId, element: TypeId) -> Option<Vec<u64>> {
    let mut all = Vec::new();
    // Ends: rule 2 of the model.
    while at != element {
        at = match model[at].kind {
            TypeKind::Alias(of) | TypeKind::Qualified(_, of) => of,
            TypeKind::Array { element, count } if count > 0 => {
                all.push(count);
                element
            }
            _ => return None,
        };
    }
    Some(all)
}

fn variables(layouts: &LayoutModel<'_>, found: &RawFinding, index: usize) -> Option<Repair> {
    let (model, line) = (layouts.model, layouts.line_bytes);
    let contended = found.victims.iter().filter(|victim| victim.leaf.role.is_contended());
    let mut all = vec![index];
    for other in contended.map(|victim| victim.variable) {
        if !all.contains(&other) {
            all.push(other);
        }
    }
    let (mut bytes, mut shown, mut names, mut language) = (0_u64, Vec::new(), Vec::new(), None);
    for variable in all.iter().map(|at| &model.statics()[*at]) {
        let size = layouts.size_of(variable.ty);
        let padding = size.checked_next_multiple_of(line)? - size;
        bytes = bytes.checked_add(padding)?.checked_add(gap(layouts, variable.ty))?;
        shown.push(variable.name.to_string());
        let of_variable = self::language(layouts, &variable.name, variable.declared.as_ref());
        if of_variable.is_some() {
            names.push(names::last(&variable.name).to_owned());
        }
        language = language.or(of_variable);
    }
    let first = layouts.size_of(model.statics()[index].ty);
    let text = tenure_advise::layout::variables(&shown, first, line, bytes);
    let declaration = Some(Declaration::Variables { names });
    let target = Target { language, line_bytes: line, declaration, ..Target::default() };
    Some(repair(text, shown, &target, bytes))
}

/// The most bytes of a gap in front.
fn gap(layouts: &LayoutModel<'_>, id: TypeId) -> u64 {
    let model = layouts.model;
    layouts.line_bytes - model[model.resolved(id)].align.clamp(1, layouts.line_bytes)
}

/// Words that say more than [`Remedy::Apart`] does: of how many elements, and at what cost.
fn repair(text: String, words: Vec<String>, target: &Target, bytes: u64) -> Repair {
    let apart = RemedyOf { remedy: Remedy::Apart, words };
    Repair { text, ..tenure_advise::repair::repair(&[apart], target, bytes, false) }
}

/// The language of a declaration; `None` where the debugging information does not tell.
fn language(
    layouts: &LayoutModel<'_>,
    path: &str,
    declared: Option<&Declared>,
) -> Option<Language> {
    let model = layouts.model;
    match declared {
        Some(at) => tenure_advise::language::of_file(&at.file),
        None if model.format() == Format::Btf => Some(Language::C),
        // rustc does not note where types are declared.
        None => {
            let first = names::first(path);
            let is_crate =
                model.crates().iter().any(|(name, _)| !first.is_empty() && name == first);
            is_crate.then_some(Language::Rust)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::Maker;
    use crate::knowledge::Knowledge;
    use crate::sharing;

    /// Checks the repair of the only finding that no type holds.
    #[track_caller]
    fn proposes(maker: Maker, text: &str, code: &[&str]) {
        let model = maker.finish_dwarf();
        let roles = Knowledge::builtin().roles(&model, None);
        let (layouts, origins) = (LayoutModel::new(&model, &roles, 64), TypeOrigins::of(&model));
        let found = sharing::find(&layouts);
        let repairs: Vec<_> =
            found.iter().filter_map(|one| apart(&layouts, &origins, one)).collect();
        let [repair] = &repairs[..] else { panic!("{repairs:#?}") };
        assert_eq!(repair.text, text);
        assert_eq!(repair.code, code);
    }

    fn of_rust(name: &str, ty: TypeId, address: u64, maker: &mut Maker) {
        maker.variable(name, ".bss", address, ty, "src/stats.rs");
    }

    /// An atomic number of Rust, and a plain one.
    fn numbers(maker: &mut Maker) -> (TypeId, TypeId) {
        let long = maker.number("u64", 8);
        (maker.add("core::sync::atomic::AtomicU64", 8, &[("v", 0, long)]), long)
    }

    #[test]
    fn each_variable_of_rust_has_a_line_of_code_of_the_size_that_it_is_said_to_have() {
        let mut maker = Maker::new();
        let (word, _) = numbers(&mut maker);
        of_rust("server::stats::HITS", word, 64, &mut maker);
        of_rust("server::MISSES", word, 72, &mut maker);
        let text = "Give `server::stats::HITS` and `server::MISSES` lines of their own: +224 bytes at most.";
        let code = [
            "#[repr(align(64))] struct Line<T>(T);",
            "static HITS: Line<…>",
            "static MISSES: Line<…>",
        ];
        proposes(maker, text, &code);
    }

    #[test]
    fn an_array_of_rust_has_its_name_and_all_its_dimensions() {
        let mut maker = Maker::new();
        let (element, _) = numbers(&mut maker);
        let row = maker.array(element, 16);
        let rows = maker.array(row, 4);
        of_rust("server::stats::SHARDS", rows, 64, &mut maker);
        let text = "Give each element a line of its own: 64 elements of 64 bytes instead of 8, +3,584 bytes in all.";
        let code = ["#[repr(align(64))] struct Line<T>(T);", "static SHARDS: [[Line<…>; 16]; 4]"];
        proposes(maker, text, &code);
    }

    /// An array of a type of a counter and a number; and the number's type.
    fn slots(maker: &mut Maker, name: &str, file: &str) -> (TypeId, TypeId) {
        let (word, long) = numbers(maker);
        let element = maker.add_declared(name, 16, &[("done", 0, word), ("id", 8, long)], file, 1);
        (maker.array(element, 8), long)
    }

    #[test]
    fn a_type_of_a_library_is_not_to_be_aligned_but_put_into_one_that_is() {
        let aligned = "Align `slot` to 64 bytes: 8 elements of 64 bytes instead of 16, +384 bytes in this array.";
        let wrapped = "Give each element a line of its own: 8 elements of 64 bytes instead of 16, +384 bytes in all.";
        let of_rust_code = ["#[repr(align(64))] struct Line<T>(T);", "static SLOTS: [Line<…>; 8]"];
        for (name, file, text, code) in [
            ("slot", "src/slot.h", aligned, &[][..]),
            ("slot", "/usr/include/slot.h", wrapped, &of_rust_code),
            ("std::sync::Slot", "", wrapped, &of_rust_code),
        ] {
            let mut maker = Maker::new();
            let (array, _) = slots(&mut maker, name, file);
            of_rust("server::SLOTS", array, 64, &mut maker);
            proposes(maker, text, code);
        }
    }

    #[test]
    fn an_owner_of_rust_which_rustc_lays_out_grows_by_so_much_at_most() {
        let mut maker = Maker::new();
        let (array, long) = slots(&mut maker, "std::sync::Slot", "");
        let members = [("size", 0, long), ("slots", 8, array)];
        maker.add_declared("server::Table", 136, &members, "src/table.rs", 1);
        let text = "Give each element a line of its own: 8 elements of 64 bytes instead of 16, +504 bytes at most in each `server::Table`.";
        let code = ["#[repr(align(64))] struct Line<T>(T);", "slots: [Line<…>; 8]"];
        proposes(maker, text, &code);
    }
}
