//! Lines of their own for members, variables and types.

use super::place::{DeclaredItem, Mentions, declarations, member, refuse_foreign, reprs};
use super::source::RustSource;
use super::stand_in::{StandIn, seen_by};
use crate::{EditOptions, Refusal, SourcePlace};
use std::ops::Range;
use syn::visit::{self, Visit};
use syn::{Expr, ExprStruct, Field, Fields, Item, Type};
use tenure_model::SourceEdit;

/// Wraps the types of members, and what this file constructs the struct with.
pub(super) fn members(
    source: &RustSource<'_>,
    names: &[String],
    place: &SourcePlace,
    options: &EditOptions,
) -> Result<Vec<SourceEdit>, Refusal> {
    let all = declarations(source);
    let found = all.type_at(place, names)?;
    let fields = fields_of(source, found, names)?;
    refuse_packed(source, found)?;
    refuse_foreign(source, found)?;
    let (padded, missing) = StandIn::padding(source, &found.scope, options);
    let mut edits = Vec::new();
    for (_, field) in &fields {
        edits.extend(wrap_type(source, &field.ty, &padded)?);
    }
    if let Some(own) = missing {
        let seen = seen_by(fields.iter().map(|(_, field)| &field.vis), source);
        edits.push(own.declare(source, found, &padded, &seen, options));
    }
    for value in constructed(source, found, &fields) {
        edits.extend(wrap_value(source, &value, &padded, true));
    }
    edits.extend(dereferenced(source, names, true));
    Ok(edits)
}

/// Wraps the types and the values of statics.
pub(super) fn variables(
    source: &RustSource<'_>,
    names: &[String],
    place: &SourcePlace,
    options: &EditOptions,
) -> Result<Vec<SourceEdit>, Refusal> {
    let all = declarations(source);
    let mut found: Vec<&DeclaredItem<'_>> =
        names.iter().map(|name| all.static_at(place, name)).collect::<Result<_, _>>()?;
    found.sort_by_key(|found| found.range.start);
    found.dedup_by_key(|found| found.range.start);
    let mut edits = Vec::new();
    for (at, declared) in found.iter().enumerate() {
        let Some(item) = declared.as_static() else { continue };
        refuse_symbol(source, declared)?;
        let (padded, missing) = StandIn::padding(source, &declared.scope, options);
        edits.extend(wrap_type(source, &item.ty, &padded)?);
        let value = Value { range: source.range(&item.expr), shorthand: None };
        edits.extend(wrap_value(source, &value, &padded, true));
        let of_scope = |other: &&&DeclaredItem<'_>| other.scope == declared.scope;
        // The type follows the last static of its scope.
        if let Some(own) = missing
            && found[at + 1..].iter().all(|other| !of_scope(&other))
        {
            let seen = found.iter().filter(of_scope).filter_map(|found| found.as_static());
            let seen = seen_by(seen.map(|item| &item.vis), source);
            edits.push(own.declare(source, declared, &padded, &seen, options));
        }
    }
    edits.extend(dereferenced(source, names, false));
    Ok(edits)
}

/// What is reached by a `*` of a pointer is reached by two, of which one passes the padding. The compiler need not see it:
/// `(*shared).clone()` would clone the pointer. Where the name is another's, the compiler refuses the second.
fn dereferenced(source: &RustSource<'_>, names: &[String], members: bool) -> Vec<SourceEdit> {
    struct Stars<'a> {
        source: &'a RustSource<'a>,
        names: &'a [String],
        members: bool,
        edits: Vec<SourceEdit>,
    }
    impl<'a> Visit<'a> for Stars<'_> {
        fn visit_expr_unary(&mut self, unary: &'a syn::ExprUnary) {
            let is_member = matches!(*unary.expr, Expr::Field(_));
            if matches!(unary.op, syn::UnOp::Deref(_))
                && is_member == self.members
                && Mentions(self.names).are(&unary.expr)
            {
                let start = self.source.range(&unary.expr).start;
                self.edits.push(self.source.insert(start, "*"));
            }
            visit::visit_expr_unary(self, unary);
        }
    }
    let mut stars = Stars { source, names, members, edits: Vec::new() };
    stars.visit_file(&source.tree);
    stars.edits
}

/// Aligns a type to whole lines.
pub(super) fn whole_type(
    source: &RustSource<'_>,
    place: &SourcePlace,
    options: &EditOptions,
) -> Result<Vec<SourceEdit>, Refusal> {
    let all = declarations(source);
    let found = all.type_at(place, &[])?;
    refuse_packed(source, found)?;
    refuse_foreign(source, found)?;
    let align = format!("align({})", options.line_bytes);
    let reprs = reprs(source, found.attrs())?;
    if let Some(repr) = reprs.iter().find(|repr| repr.word == "align") {
        if repr.bytes >= Some(options.line_bytes) {
            let why = format!("`{}` has lines of its own already", found.ident());
            return Err(source.refuse(repr.range.start, why));
        }
        return Ok(vec![source.replace(repr.range.clone(), align)]);
    }
    if let Some(last) = reprs.last() {
        return Ok(vec![source.insert(last.range.end, format!(", {align}"))]);
    }
    let at = keyword(source, found);
    let text = format!("#[repr({align})]{}{}", source.newline(), source.indent(at));
    Ok(vec![source.insert(at, text)])
}

/// Where the declaration begins behind its attributes.
fn keyword(source: &RustSource<'_>, found: &DeclaredItem<'_>) -> usize {
    let (vis, token) = match found.item {
        Item::Struct(item) => (&item.vis, source.range(&item.struct_token)),
        Item::Enum(item) => (&item.vis, source.range(&item.enum_token)),
        Item::Union(item) => (&item.vis, source.range(&item.union_token)),
        _ => return found.range.start,
    };
    if matches!(vis, syn::Visibility::Inherited) { token.start } else { source.range(vis).start }
}

/// The members of these names, each with its index. All others are refused.
pub(super) fn fields_of<'a>(
    source: &RustSource<'_>,
    found: &DeclaredItem<'a>,
    names: &[String],
) -> Result<Vec<(usize, &'a Field)>, Refusal> {
    let start = found.range.start;
    let Some(item) = found.as_struct() else {
        let why = format!("`{}` is not a struct", found.ident());
        return Err(source.refuse(start, why));
    };
    let mut fields = Vec::new();
    for name in names {
        let Some((at, field)) = member(&item.fields, name) else {
            let why = format!("`{}` has no member `{name}`", item.ident);
            return Err(source.refuse(start, why));
        };
        let same = |other: &&Field| other.ident.is_some() && other.ident == field.ident;
        if item.fields.iter().filter(same).count() > 1 {
            let why = format!("`{name}` is declared several times, under conditions");
            return Err(source.refuse(source.range(field).start, why));
        }
        if !fields.iter().any(|(known, _)| *known == at) {
            fields.push((at, field));
        }
    }
    Ok(fields)
}

fn refuse_packed(source: &RustSource<'_>, found: &DeclaredItem<'_>) -> Result<(), Refusal> {
    for repr in reprs(source, found.attrs())? {
        if matches!(repr.word.as_str(), "packed" | "transparent" | "simd") {
            let why = format!("`{}` is `repr({})`", found.ident(), repr.word);
            return Err(source.refuse(repr.range.start, why));
        }
    }
    Ok(())
}

/// A static that other languages or the linker see by its symbol is not theirs to grow.
pub(super) fn refuse_symbol(
    source: &RustSource<'_>,
    found: &DeclaredItem<'_>,
) -> Result<(), Refusal> {
    for attr in found.attrs() {
        let text = source.of(attr);
        if ["no_mangle", "export_name", "link_section"].iter().any(|word| text.contains(word)) {
            let why = format!("`{}` is a symbol that others see: {text}", found.ident());
            return Err(source.refuse(source.range(attr).start, why));
        }
    }
    Ok(())
}

fn wrap_type(
    source: &RustSource<'_>,
    ty: &Type,
    padded: &StandIn,
) -> Result<[SourceEdit; 2], Refusal> {
    let range = source.range(ty);
    let unsized_type = match ty {
        Type::TraitObject(_) | Type::Slice(_) => true,
        Type::Path(path) => path.path.is_ident("str"),
        _ => false,
    };
    if unsized_type {
        let why = format!("`{}` has no fixed size to pad", source.of(ty));
        return Err(source.refuse(range.start, why));
    }
    let known = |name: &syn::Ident| *name == padded.name || name == "CachePadded";
    if let Type::Path(path) = ty
        && path.path.segments.last().is_some_and(|last| known(&last.ident))
    {
        return Err(source.refuse(range.start, "it has lines of its own already"));
    }
    let here = range.start;
    let path = padded.path_at(source, here, true).unwrap_or_default();
    Ok([source.insert(range.start, path + "<"), source.insert(range.end, ">")])
}

/// A value that a member is constructed with.
pub(super) struct Value {
    pub(super) range: Range<usize>,
    /// The member, where the value is a variable of its name: `Stats { hits }`.
    pub(super) shorthand: Option<String>,
}

/// Puts a value on lines of its own.
pub(super) fn wrap_value(
    source: &RustSource<'_>,
    value: &Value,
    padded: &StandIn,
    here: bool,
) -> Vec<SourceEdit> {
    let Range { start, end } = value.range;
    let member = value.shorthand.as_ref().map_or(String::new(), |name| format!("{name}: "));
    match padded.path_at(source, start, here) {
        Some(path) => {
            vec![source.insert(start, format!("{member}{path}::new(")), source.insert(end, ")")]
        }
        None if is_tight(source.expr(&value.range)) => {
            let mut edits = vec![source.insert(end, ".into()")];
            if !member.is_empty() {
                edits.insert(0, source.insert(start, member));
            }
            edits
        }
        None => vec![source.insert(start, "("), source.insert(end, ").into()")],
    }
}

/// Whether an expression binds at least as tightly as the method call, or the `*`, that is put beside it.
pub(super) fn is_tight(expr: Option<&Expr>) -> bool {
    matches!(
        expr,
        Some(
            Expr::Path(_)
                | Expr::Field(_)
                | Expr::MethodCall(_)
                | Expr::Call(_)
                | Expr::Macro(_)
                | Expr::Paren(_)
                | Expr::Index(_)
                | Expr::Lit(_)
                | Expr::Array(_)
                | Expr::Tuple(_)
                | Expr::Try(_)
        )
    )
}

/// The values that this file constructs the members with, where its text alone shows which struct is meant.
pub(super) fn constructed(
    source: &RustSource<'_>,
    found: &DeclaredItem<'_>,
    fields: &[(usize, &Field)],
) -> Vec<Value> {
    let Some(item) = found.as_struct() else { return Vec::new() };
    let name = item.ident.to_string();
    let mut names = NameCount { name: &name, count: 0 };
    names.visit_file(&source.tree);
    if names.count != 1 {
        // The compiler shows which.
        return Vec::new();
    }
    let tuple = matches!(item.fields, Fields::Unnamed(_));
    let mut constructed =
        Constructed { source, name: &name, fields, tuple, in_impl: false, values: Vec::new() };
    constructed.visit_file(&source.tree);
    constructed.values
}

/// How many types and variants have a name.
struct NameCount<'a> {
    name: &'a str,
    count: usize,
}

impl<'a> Visit<'a> for NameCount<'_> {
    fn visit_item(&mut self, item: &'a Item) {
        let ident = match item {
            Item::Struct(item) => Some(&item.ident),
            Item::Enum(item) => Some(&item.ident),
            Item::Union(item) => Some(&item.ident),
            Item::Type(item) => Some(&item.ident),
            _ => None,
        };
        self.count += usize::from(ident.is_some_and(|ident| ident == self.name));
        visit::visit_item(self, item);
    }

    fn visit_variant(&mut self, variant: &'a syn::Variant) {
        self.count += usize::from(variant.ident == self.name);
    }
}

struct Constructed<'a> {
    source: &'a RustSource<'a>,
    name: &'a str,
    fields: &'a [(usize, &'a Field)],
    tuple: bool,
    /// Whether `Self` is the struct.
    in_impl: bool,
    values: Vec<Value>,
}

impl Constructed<'_> {
    fn is_struct(&self, path: &syn::Path) -> bool {
        (path.segments.last())
            .is_some_and(|last| last.ident == self.name || self.in_impl && last.ident == "Self")
    }

    fn has(&self, member: &syn::Member) -> bool {
        self.fields.iter().any(|(at, field)| match member {
            syn::Member::Named(name) => field.ident.as_ref() == Some(name),
            syn::Member::Unnamed(index) => self.tuple && index.index as usize == *at,
        })
    }
}

impl<'a> Visit<'a> for Constructed<'_> {
    fn visit_item_impl(&mut self, item: &'a syn::ItemImpl) {
        let outer = self.in_impl;
        self.in_impl = match &*item.self_ty {
            Type::Path(path) => {
                path.path.segments.last().is_some_and(|last| last.ident == self.name)
            }
            _ => false,
        };
        visit::visit_item_impl(self, item);
        self.in_impl = outer;
    }

    fn visit_expr_struct(&mut self, value: &'a ExprStruct) {
        if self.is_struct(&value.path) {
            for field in &value.fields {
                if !self.has(&field.member) {
                    continue;
                }
                let shorthand =
                    field.colon_token.is_none().then(|| self.source.of(&field.member).to_owned());
                let range = self.source.range(&field.expr);
                self.values.push(Value { range, shorthand });
            }
        }
        visit::visit_expr_struct(self, value);
    }

    fn visit_expr_call(&mut self, call: &'a syn::ExprCall) {
        if self.tuple
            && let Expr::Path(path) = &*call.func
            && self.is_struct(&path.path)
        {
            for (at, arg) in call.args.iter().enumerate() {
                if self.fields.iter().any(|(index, _)| *index == at) {
                    let range = self.source.range(arg);
                    self.values.push(Value { range, shorthand: None });
                }
            }
        }
        visit::visit_expr_call(self, call);
    }
}
