//! Declarations: those of a file, and the one that a place of the debugging information means.

use super::source::RustSource;
use crate::{Refusal, SourcePlace};
use std::ops::Range;
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, Expr, Field, Fields, Ident, Item, ItemStatic, ItemStruct, Member, Stmt};

/// How far from its declaration debugging information may place a type: at an attribute, or at a member.
const MAX_LINES_OFF: u64 = 5;

/// What a name is looked up in: a module, or a block by where it begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Home {
    Module(String),
    Block(usize),
}

/// A type or a static, and where it is declared.
pub(super) struct DeclaredItem<'a> {
    pub(super) item: &'a Item,
    pub(super) scope: Vec<Home>,
    pub(super) range: Range<usize>,
}

impl<'a> DeclaredItem<'a> {
    pub(super) fn as_struct(&self) -> Option<&'a ItemStruct> {
        if let Item::Struct(item) = self.item { Some(item) } else { None }
    }

    pub(super) fn as_static(&self) -> Option<&'a ItemStatic> {
        if let Item::Static(item) = self.item { Some(item) } else { None }
    }

    pub(super) fn is_type(&self) -> bool {
        matches!(self.item, Item::Struct(_) | Item::Enum(_) | Item::Union(_))
    }

    pub(super) fn ident(&self) -> &'a Ident {
        match self.item {
            Item::Struct(item) => &item.ident,
            Item::Enum(item) => &item.ident,
            Item::Union(item) => &item.ident,
            Item::Static(item) => &item.ident,
            _ => unreachable!("no other item is declared"),
        }
    }

    pub(super) fn attrs(&self) -> &'a [Attribute] {
        match self.item {
            Item::Struct(item) => &item.attrs,
            Item::Enum(item) => &item.attrs,
            Item::Union(item) => &item.attrs,
            Item::Static(item) => &item.attrs,
            _ => &[],
        }
    }
}

/// All types and statics of a file, and where macros stand for items.
pub(super) struct Declarations<'a> {
    source: &'a RustSource<'a>,
    pub(super) all: Vec<DeclaredItem<'a>>,
    macros: Vec<Range<usize>>,
    scope: Vec<Home>,
    /// The scope of the byte that was asked for.
    at: Option<(usize, Vec<Home>)>,
}

pub(super) fn declarations<'a>(source: &'a RustSource<'a>) -> Declarations<'a> {
    scan(source, None)
}

/// What names are looked up in at a byte.
pub(super) fn scope_at(source: &RustSource<'_>, at: usize) -> Vec<Home> {
    scan(source, Some((at, Vec::new()))).at.map(|(_, scope)| scope).unwrap_or_default()
}

fn scan<'a>(source: &'a RustSource<'a>, at: Option<(usize, Vec<Home>)>) -> Declarations<'a> {
    let (all, macros, scope) = (Vec::new(), Vec::new(), Vec::new());
    let mut found = Declarations { source, all, macros, scope, at };
    found.visit_file(&source.tree);
    found
}

impl<'a> Declarations<'a> {
    /// The type at the place that has these members; without any, the nearest type.
    pub(super) fn type_at(
        &self,
        place: &SourcePlace,
        members: &[String],
    ) -> Result<&DeclaredItem<'a>, Refusal> {
        self.refuse_macro(place.line)?;
        let lines = |found: &DeclaredItem<'_>| {
            self.source.line(found.range.start)..=self.source.line(found.range.end)
        };
        let off = |found: &&DeclaredItem<'_>| {
            let lines = lines(found);
            lines.start().saturating_sub(place.line).max(place.line.saturating_sub(*lines.end()))
        };
        let has_all = |found: &&DeclaredItem<'_>| {
            found
                .as_struct()
                .is_some_and(|item| members.iter().all(|name| member(&item.fields, name).is_some()))
        };
        let types = || self.all.iter().filter(|found| found.is_type());
        let near = |found: &&DeclaredItem<'_>| {
            (members.is_empty() || off(found) == 0 || has_all(found)) && off(found) <= MAX_LINES_OFF
        };
        let key = |found: &&DeclaredItem<'_>| (off(found), found.range.len());
        let Some(found) = types().filter(near).min_by_key(key) else {
            let why = "no type is declared here".to_owned();
            return Err(self.source.refuse_line(place.line, why));
        };
        self.refuse_conditional(found)?;
        Ok(found)
    }

    /// The static of this name at the place, or the only one of this name.
    pub(super) fn static_at(
        &self,
        place: &SourcePlace,
        name: &str,
    ) -> Result<&DeclaredItem<'a>, Refusal> {
        let named: Vec<&DeclaredItem<'_>> = (self.all.iter())
            .filter(|found| found.as_static().is_some_and(|item| item.ident.unraw() == name))
            .collect();
        let near = |found: &&&DeclaredItem<'_>| {
            let line = self.source.line(self.source.range(found.ident()).start);
            line.abs_diff(place.line) <= MAX_LINES_OFF
        };
        let found = match named[..] {
            [] => {
                self.refuse_macro(place.line)?;
                let why = format!("no static `{name}` is declared in this file");
                return Err(self.source.refuse_line(place.line, why));
            }
            [found] => found,
            _ => {
                let mut near = named.iter().filter(near);
                match (near.next(), near.next()) {
                    (Some(found), None) => found,
                    _ => {
                        let why = format!("several statics are named `{name}`");
                        return Err(self.source.refuse_line(place.line, why));
                    }
                }
            }
        };
        self.refuse_conditional(found)?;
        Ok(found)
    }

    fn refuse_macro(&self, line: u64) -> Result<(), Refusal> {
        let within = |range: &&Range<usize>| {
            (self.source.line(range.start)..=self.source.line(range.end)).contains(&line)
        };
        match self.macros.iter().find(within) {
            Some(_) => Err(self.source.refuse_line(line, "a macro makes this declaration")),
            None => Ok(()),
        }
    }

    /// Of a name that is declared several times, each under a condition, an edit would reach one.
    fn refuse_conditional(&self, found: &DeclaredItem<'_>) -> Result<(), Refusal> {
        let twin = |other: &&DeclaredItem<'_>| {
            other.ident() == found.ident()
                && other.is_type() == found.is_type()
                && other.scope == found.scope
                && other.range != found.range
        };
        match self.all.iter().find(twin) {
            Some(other) => {
                let line = self.source.line(other.range.start);
                let why = format!(
                    "`{}` is declared under conditions, here and at line {line}",
                    found.ident()
                );
                Err(self.source.refuse(found.range.start, why))
            }
            None => Ok(()),
        }
    }

    fn within(&mut self, node: &impl Spanned, scope: Home, inner: impl FnOnce(&mut Self)) {
        let range = self.source.range(node);
        self.scope.push(scope);
        if let Some((at, scope)) = &mut self.at
            && range.contains(at)
        {
            scope.clone_from(&self.scope);
        }
        inner(self);
        self.scope.pop();
    }
}

impl<'a> Visit<'a> for Declarations<'a> {
    fn visit_item(&mut self, item: &'a Item) {
        match item {
            Item::Struct(_) | Item::Enum(_) | Item::Union(_) | Item::Static(_) => {
                let (scope, range) = (self.scope.clone(), self.source.range(item));
                self.all.push(DeclaredItem { item, scope, range });
            }
            Item::Macro(_) | Item::Verbatim(_) => self.macros.push(self.source.range(item)),
            _ => {}
        }
        visit::visit_item(self, item);
    }

    fn visit_item_mod(&mut self, module: &'a syn::ItemMod) {
        let name = module.ident.to_string();
        self.within(module, Home::Module(name), |inner| visit::visit_item_mod(inner, module));
    }

    fn visit_block(&mut self, block: &'a syn::Block) {
        let start = self.source.range(block).start;
        self.within(block, Home::Block(start), |inner| visit::visit_block(inner, block));
    }

    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        // `thread_local!` and the like: what is left of the macros in statements did not read as expressions.
        if let Stmt::Macro(_) = stmt {
            self.macros.push(self.source.range(stmt));
        }
        visit::visit_stmt(self, stmt);
    }
}

/// The members or statics of a change.
pub(super) struct Mentions<'n>(pub(super) &'n [String]);

impl Mentions<'_> {
    /// Whether the expression is one of them: `stats.hits`, `HITS`.
    pub(super) fn are(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Paren(inner) => self.are(&inner.expr),
            Expr::Field(field) => match &field.member {
                Member::Named(name) => self.0.iter().any(|known| name.unraw() == known),
                Member::Unnamed(index) => (self.0.iter())
                    .any(|known| known.trim_start_matches('_') == index.index.to_string()),
            },
            Expr::Path(path) => {
                let last = path.path.segments.last();
                last.is_some_and(|last| self.0.iter().any(|known| last.ident.unraw() == known))
            }
            _ => false,
        }
    }

    /// The same, or a reference to one.
    pub(super) fn are_borrowed(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Reference(inner) => self.are(&inner.expr),
            _ => self.are(expr),
        }
    }
}

/// The member of this name. Tuples' are `0` or, as debugging information names them, `__0`.
pub(super) fn member<'a>(fields: &'a Fields, name: &str) -> Option<(usize, &'a Field)> {
    fields.iter().enumerate().find(|(at, field)| match &field.ident {
        Some(ident) => ident.unraw() == name,
        None => name.trim_start_matches('_') == at.to_string(),
    })
}

/// One of the words of a `repr` attribute.
pub(super) struct Repr {
    pub(super) word: String,
    /// Bytes of `align` or `packed`.
    pub(super) bytes: Option<u64>,
    /// Where the word stands, with what is in parentheses.
    pub(super) range: Range<usize>,
}

/// Whether a `cfg_attr` has no `repr` but of an alignment: of several the largest counts.
fn is_of_alignment(text: &str) -> bool {
    let text: String = text.split_whitespace().collect();
    text.split("repr(").skip(1).all(|rest| {
        let bytes = rest.strip_prefix("align(").and_then(|rest| rest.split_once("))"));
        bytes.is_some_and(|(bytes, _)| bytes.bytes().all(|it| it.is_ascii_digit()))
    })
}

/// What the `repr` attributes say. A condition on one is refused, but for an alignment: where it holds is not known here.
pub(super) fn reprs(source: &RustSource<'_>, attrs: &[Attribute]) -> Result<Vec<Repr>, Refusal> {
    let mut found = Vec::new();
    for attr in attrs {
        let start = source.range(attr).start;
        if attr.path().is_ident("cfg_attr") && !is_of_alignment(source.of(attr)) {
            return Err(source.refuse(start, "its `repr` is under a condition"));
        }
        if !attr.path().is_ident("repr") {
            continue;
        }
        attr.parse_nested_meta(|meta| {
            let mut range = source.range(&meta.path);
            let mut bytes = None;
            if meta.input.peek(syn::token::Paren) {
                let inner;
                let paren = syn::parenthesized!(inner in meta.input);
                bytes = inner.parse::<syn::LitInt>()?.base10_parse().ok();
                range.end = source.bytes(paren.span.close()).end;
            }
            let word = meta.path.get_ident().map(ToString::to_string).unwrap_or_default();
            found.push(Repr { word, bytes, range });
            Ok(())
        })
        .map_err(|error| source.refuse(start, format!("its `repr` does not parse: {error}")))?;
    }
    Ok(found)
}

/// Refuses a type whose layout is agreed with code that is not Rust: it is named in an `extern` block or function.
pub(super) fn refuse_foreign(
    source: &RustSource<'_>,
    found: &DeclaredItem<'_>,
) -> Result<(), Refusal> {
    struct Foreign<'a> {
        name: &'a Ident,
        depth: usize,
        at: Option<&'a Ident>,
    }
    impl<'a> Visit<'a> for Foreign<'a> {
        fn visit_item_foreign_mod(&mut self, module: &'a syn::ItemForeignMod) {
            self.depth += 1;
            visit::visit_item_foreign_mod(self, module);
            self.depth -= 1;
        }
        fn visit_signature(&mut self, signature: &'a syn::Signature) {
            let foreign = usize::from(signature.abi.is_some());
            self.depth += foreign;
            visit::visit_signature(self, signature);
            self.depth -= foreign;
        }
        fn visit_ident(&mut self, ident: &'a Ident) {
            if self.depth > 0 && ident == self.name {
                self.at = Some(ident);
            }
        }
    }
    let mut foreign = Foreign { name: found.ident(), depth: 0, at: None };
    foreign.visit_file(&source.tree);
    match foreign.at {
        Some(ident) => {
            let why = format!("`{ident}` is laid out for code in another language");
            Err(source.refuse(source.range(ident).start, why))
        }
        None => Ok(()),
    }
}
