//! Repairs for neighbours that no type holds: elements of an array, and variables.
//!
//! Aligning a word keeps off only what precedes it, since the next word follows at once. A struct that is aligned to a
//! line takes whole lines.

use super::units::Units;
use super::words::listed;
use crate::lines::Layouts;
use crate::names;
use crate::origin::Origins;
use crate::sharing::{Array, Found, Site};
use tenure_model::{Language, Origin, Repair};
use tenure_report::words::{counted, grouped};
use tenure_types::model::{Declared, Format, Kind, Member, Model, TypeId};

/// The name by which a run calls this repair too.
const APART: &str = "apart";

/// Lines of their own for the elements or variables of a finding. Members of a type are for [`suggest`](super::suggest).
pub(crate) fn apart(layouts: &Layouts<'_>, origins: &Origins<'_>, found: &Found) -> Option<Repair> {
    match found.site {
        Site::Type { .. } => None,
        Site::Elements { array, element, stride, count } => {
            let padded = stride.checked_next_multiple_of(layouts.line_bytes)?;
            let elements = Elements { layouts, array, element, stride, count, padded };
            Some(match padded == stride {
                true => elements.aligned(),
                false => elements.padded(origins, found.word.is_whole()),
            })
        }
        Site::Statics { index } => variables(layouts, found, index),
    }
}

struct Elements<'a, 'm> {
    layouts: &'a Layouts<'m>,
    array: Array,
    element: TypeId,
    stride: u64,
    /// 0 if any number.
    count: u64,
    /// The stride in whole lines.
    padded: u64,
}

impl Elements<'_, '_> {
    /// Elements of whole lines, of which the first does not begin one.
    fn aligned(&self) -> Repair {
        let (layouts, line) = (self.layouts, self.layouts.line_bytes);
        let (cost, bytes) = match self.array {
            Array::Member { owner, member } => {
                self.grown(owner, member, self.stride.saturating_mul(self.count))
            }
            Array::Static(_) | Array::Pointed => {
                let bytes = gap(layouts, self.element);
                (format!("{} at most", bytes_of(bytes)), bytes)
            }
        };
        let its = if self.stride == line { "its own line" } else { "its own lines" };
        let stride = in_bytes(self.stride);
        let text = format!(
            "Align the array to {line} bytes: each element ({stride}) then has {its}, {cost}."
        );
        repair(text, Vec::new(), bytes)
    }

    fn padded(&self, origins: &Origins<'_>, is_whole: bool) -> Repair {
        let (line, ty) = (self.layouts.line_bytes, &self.layouts.model[self.element]);
        let is_nameless = self.is_nameless();
        let is_yours =
            is_nameless || origins.origin(&ty.name, ty.declared.as_ref()) == Origin::Yours;
        // Neither a number nor another's type can be aligned where it is declared.
        let is_wrapped = is_whole || !is_yours;
        let (what, code) = match (is_wrapped, is_nameless) {
            (true, _) => {
                ("Give each element".to_owned() + its_lines(self.padded, line), self.code(is_yours))
            }
            (false, true) => {
                (format!("Align the element type to {line} bytes"), self.code(is_yours))
            }
            (false, false) => {
                let name = self.layouts.spelled(self.element);
                (format!("Align `{name}` to {line} bytes"), Vec::new())
            }
        };
        let (cost, bytes) = self.price(!is_wrapped && !is_nameless);
        let many = match self.count {
            0 => String::new(),
            count => format!("{} elements of ", grouped(&count.to_string())),
        };
        let (padded, stride) = (self.padded, self.stride);
        let text = format!("{what}: {many}{padded} bytes instead of {stride}, {cost}.");
        repair(text, code, bytes)
    }

    /// In words, and in bytes. A type that is aligned may have other arrays.
    fn price(&self, of_type: bool) -> (String, u64) {
        let each = self.padded - self.stride;
        let all = each.saturating_mul(self.count);
        match self.array {
            _ if self.count == 0 => (format!("{} each", bytes_of(each)), each),
            Array::Member { owner, .. } if of_type => {
                let owner = self.layouts.spelled(owner);
                (format!("{} in this array of each `{owner}`", bytes_of(all)), all)
            }
            Array::Member { owner, member } => {
                self.grown(owner, member, self.padded.saturating_mul(self.count))
            }
            _ if of_type => (format!("{} in this array", bytes_of(all)), all),
            _ => (format!("{} in all", bytes_of(all)), all),
        }
    }

    /// What the array's owner grows by if the array begins a line and has so many bytes.
    fn grown(&self, owner: TypeId, member: usize, array: u64) -> (String, u64) {
        let (layouts, line) = (self.layouts, self.layouts.line_bytes);
        let (ty, size) = (&layouts.model[owner], layouts.size_of(owner));
        let is_in_order = language(layouts, &ty.name, ty.declared.as_ref()) == Some(Language::C);
        let units = is_in_order.then(|| Units::of(layouts, owner, &|_| false).ok()).flatten();
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
        (format!("{}{most} in each `{}`", bytes_of(bytes), layouts.spelled(owner)), bytes)
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
        name.is_empty() || is_variables || (name.contains('.') && is_c() == Some(Language::C))
    }

    /// The array of elements that are aligned; nothing if the language is not known.
    fn code(&self, is_yours: bool) -> Vec<String> {
        let (model, line) = (self.layouts.model, self.layouts.line_bytes);
        let (path, declared) = match self.array {
            Array::Static(index) => {
                let variable = &model.statics()[index];
                (&variable.name, variable.declared.as_ref())
            }
            Array::Member { owner, .. } => (&model[owner].name, model[owner].declared.as_ref()),
            // Behind a pointer, another's type does not tell who uses it.
            Array::Pointed if !is_yours => return Vec::new(),
            Array::Pointed => (&model[self.element].name, model[self.element].declared.as_ref()),
        };
        let (name, ty) = match self.array {
            Array::Static(index) => (names::last(path), Some(model.statics()[index].ty)),
            Array::Member { owner, member } => match member_of(model, owner, member) {
                Some(member) => (&*member.name, Some(member.ty)),
                None => return Vec::new(),
            },
            Array::Pointed => ("", None),
        };
        let counts = ty.and_then(|ty| counts(model, ty, self.element));
        match (language(self.layouts, path, declared), counts) {
            (Some(Language::C), Some(counts)) if !name.is_empty() => {
                let counts: String = counts.iter().map(|count| format!("[{count}]")).collect();
                vec![format!("{} {name}{counts};", in_struct(line))]
            }
            (Some(Language::Rust), Some(counts)) => {
                let array = |inner, count: &u64| format!("[{inner}; {count}]");
                let ty = counts.iter().rev().fold(LINE.to_owned(), array);
                let code = match self.array {
                    Array::Static(_) => format!("static {name}: {ty}"),
                    // A tuple's members have no names in Rust.
                    _ if name.is_empty() || name.starts_with("__") => ty,
                    _ => format!("{name}: {ty}"),
                };
                vec![line_struct(line), code]
            }
            (Some(Language::Rust), None) if self.array == Array::Pointed => {
                vec![line_struct(line), format!("Box<[{LINE}]>")]
            }
            _ => Vec::new(),
        }
    }
}

/// How many elements an array has, the outermost first; `None` if any has any number.
fn counts(model: &Model, mut at: TypeId, element: TypeId) -> Option<Vec<u64>> {
    let mut all = Vec::new();
    // Ends: rule 2 of the model.
    while at != element {
        at = match model[at].kind {
            Kind::Alias(of) | Kind::Qualified(_, of) => of,
            Kind::Array { element, count } if count > 0 => {
                all.push(count);
                element
            }
            _ => return None,
        };
    }
    Some(all)
}

fn member_of(model: &Model, owner: TypeId, member: usize) -> Option<&Member> {
    match &model[owner].kind {
        Kind::Composite { members, .. } => members.get(member),
        _ => None,
    }
}

fn variables(layouts: &Layouts<'_>, found: &Found, index: usize) -> Option<Repair> {
    let (model, line) = (layouts.model, layouts.line_bytes);
    let contended = found.victims.iter().filter(|victim| victim.leaf.role.is_contended());
    let mut all = vec![index];
    for other in contended.map(|victim| victim.variable) {
        if !all.contains(&other) {
            all.push(other);
        }
    }
    let (mut bytes, mut names, mut code) = (0_u64, Vec::new(), Vec::new());
    for variable in all.iter().map(|at| &model.statics()[*at]) {
        let size = layouts.size_of(variable.ty);
        let padding = size.checked_next_multiple_of(line)? - size;
        bytes = bytes.checked_add(padding)?.checked_add(gap(layouts, variable.ty))?;
        names.push(variable.name.to_string());
        let name = names::last(&variable.name);
        match language(layouts, &variable.name, variable.declared.as_ref()) {
            Some(Language::C) => code.push(format!("{} {name};", in_struct(line))),
            Some(Language::Rust) => {
                let line_struct = line_struct(line);
                if !code.contains(&line_struct) {
                    code.push(line_struct);
                }
                code.push(format!("static {name}: {LINE}"));
            }
            None => {}
        }
    }
    let its = match names.len() {
        1 => its_lines(layouts.size_of(model.statics()[index].ty), line),
        _ => " lines of their own",
    };
    let text = format!("Give {}{its}: {} at most.", listed(&names), bytes_of(bytes));
    Some(repair(text, code, bytes))
}

/// The gap in front, at most.
fn gap(layouts: &Layouts<'_>, id: TypeId) -> u64 {
    let model = layouts.model;
    layouts.line_bytes - model[model.resolved(id)].align.clamp(1, layouts.line_bytes)
}

fn repair(text: String, code: Vec<String>, bytes: u64) -> Repair {
    Repair { name: APART.to_owned(), text, code, bytes, per_thread: false }
}

fn its_lines(size: u64, line: u64) -> &'static str {
    if size <= line { " a line of its own" } else { " lines of its own" }
}

fn in_struct(line: u64) -> String {
    format!("struct {{ … }} __attribute__((aligned({line})))")
}

/// [`line_struct`], around anything.
const LINE: &str = "Line<…>";

/// `tenure::cache_line::CachePadded` is larger where processors fetch lines in pairs: it would have another price.
fn line_struct(line: u64) -> String {
    format!("#[repr(align({line}))] struct Line<T>(T);")
}

fn in_bytes(number: u64) -> String {
    counted(usize::try_from(number).unwrap_or(usize::MAX), "byte")
}

fn bytes_of(number: u64) -> String {
    format!("+{}", in_bytes(number))
}

/// `None` where the debugging information does not tell.
fn language(layouts: &Layouts<'_>, path: &str, declared: Option<&Declared>) -> Option<Language> {
    let model = layouts.model;
    match declared {
        Some(at) => Language::of_file(&at.file),
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
    use crate::knowledge::Knowledge;
    use crate::sharing;
    use tenure_types::model::{Builder, Scalar, Shape, Static, Type};

    fn declared(file: &str) -> Option<Declared> {
        Some(Declared { file: file.into(), line: 1 })
    }

    /// For the only finding that no type holds.
    #[track_caller]
    fn proposes(builder: Builder, text: &str, code: &[&str]) {
        let model = builder.finish(Format::Dwarf, 1).unwrap();
        let roles = Knowledge::builtin().roles(&model);
        let (layouts, origins) = (Layouts::new(&model, &roles, 64), Origins::of(&model));
        let found = sharing::find(&layouts);
        let repairs = found.iter().filter_map(|one| apart(&layouts, &origins, one));
        let all: Vec<_> = repairs.map(|repair| (repair.text, repair.code)).collect();
        let code = code.iter().map(|line| (*line).to_owned()).collect();
        assert_eq!(all, [(text.to_owned(), code)]);
    }

    fn of_rust(variables: &[(&str, TypeId, u64)], builder: &mut Builder) {
        for (name, ty, address) in variables {
            let (ty, address, declared) = (*ty, *address, declared("src/stats.rs"));
            let (name, section) = ((*name).into(), ".bss".into());
            builder.push_static(Static { name, section, address, ty, declared });
        }
    }

    fn atomic(builder: &mut Builder) -> TypeId {
        let long = builder.add("u64", 8, Kind::Scalar(Scalar::Integer));
        let members = vec![Member::new("v", 0, long)];
        let kind = Kind::Composite { shape: Shape::Struct, members };
        builder.add("core::sync::atomic::AtomicU64", 8, kind)
    }

    #[test]
    fn each_variable_of_rust_has_a_line_of_code_of_the_size_that_it_is_said_to_have() {
        let mut builder = Builder::new();
        let word = atomic(&mut builder);
        of_rust(&[("server::stats::HITS", word, 64), ("server::MISSES", word, 72)], &mut builder);
        let text = "Give `server::stats::HITS` and `server::MISSES` lines of their own: +224 bytes at most.";
        let code = [
            "#[repr(align(64))] struct Line<T>(T);",
            "static HITS: Line<…>",
            "static MISSES: Line<…>",
        ];
        proposes(builder, text, &code);
    }

    #[test]
    fn an_array_of_rust_has_its_name_and_all_its_dimensions() {
        let mut builder = Builder::new();
        let element = atomic(&mut builder);
        let row = builder.add("", 0, Kind::Array { element, count: 16 });
        let rows = builder.add("", 0, Kind::Array { element: row, count: 4 });
        of_rust(&[("server::stats::SHARDS", rows, 64)], &mut builder);
        let text = "Give each element a line of its own: 64 elements of 64 bytes instead of 8, +3,584 bytes in all.";
        let code = ["#[repr(align(64))] struct Line<T>(T);", "static SHARDS: [[Line<…>; 16]; 4]"];
        proposes(builder, text, &code);
    }

    /// A type of a counter and a number, and an array of it.
    fn slots(builder: &mut Builder, name: &str, file: &str) -> TypeId {
        let (word, long) = (atomic(builder), builder.add("u64", 8, Kind::Scalar(Scalar::Integer)));
        let members = vec![Member::new("done", 0, word), Member::new("id", 8, long)];
        let kind = Kind::Composite { shape: Shape::Struct, members };
        let element = builder.push(Type { declared: declared(file), ..Type::new(name, 16, kind) });
        builder.add("", 0, Kind::Array { element, count: 8 })
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
            let mut builder = Builder::new();
            let array = slots(&mut builder, name, file);
            of_rust(&[("server::SLOTS", array, 64)], &mut builder);
            proposes(builder, text, code);
        }
    }

    #[test]
    fn an_owner_of_rust_which_rustc_lays_out_grows_by_so_much_at_most() {
        let mut builder = Builder::new();
        let array = slots(&mut builder, "std::sync::Slot", "");
        let long = builder.add("u64", 8, Kind::Scalar(Scalar::Integer));
        let members = vec![Member::new("size", 0, long), Member::new("slots", 8, array)];
        let kind = Kind::Composite { shape: Shape::Struct, members };
        let owner =
            Type { declared: declared("src/table.rs"), ..Type::new("server::Table", 136, kind) };
        builder.push(owner);
        let text = "Give each element a line of its own: 8 elements of 64 bytes instead of 16, +504 bytes at most in each `server::Table`.";
        let code = ["#[repr(align(64))] struct Line<T>(T);", "slots: [Line<…>; 8]"];
        proposes(builder, text, &code);
    }
}
