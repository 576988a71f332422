//! A Rust source file, parsed: every node knows its bytes, and edits are made of bytes.

use crate::{Refusal, SourcePlace};
use proc_macro2::Span;
use std::collections::HashSet;
use std::ops::Range;
use std::path::{Path, PathBuf};
use syn::parse::{ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::visit_mut::{self, VisitMut};
use syn::{Expr, FieldValue, Pat, Stmt, Token};
use tenure_model::SourceEdit;

/// A file's text and its tree. Arguments of macros that read as expressions are in the tree, as those of a call.
pub(super) struct RustSource<'t> {
    pub(super) text: &'t str,
    pub(super) tree: syn::File,
    file: PathBuf,
    /// Bytes before what is parsed: a byte order mark, and a line that starts with `#!`.
    skipped: usize,
    /// Where macros begin whose arguments are in the tree.
    opened: HashSet<usize>,
}

/// A node of the tree around a piece of text.
#[derive(Clone, Copy)]
pub(super) enum RustNode<'a> {
    /// A function's name and body.
    Fn(&'a syn::Ident, &'a syn::Block),
    Stmt(&'a Stmt),
    Expr(&'a Expr),
    Pat,
    FieldValue(&'a FieldValue),
}

impl<'t> RustSource<'t> {
    pub(super) fn parse(file: &Path, text: &'t str) -> Result<Self, Refusal> {
        let mut rest = text.strip_prefix('\u{feff}').unwrap_or(text);
        if rest.starts_with("#!") && !rest[2..].trim_start().starts_with('[') {
            rest = rest.find('\n').map_or("", |end| &rest[end..]);
        }
        let skipped = text.len() - rest.len();
        let mut tree = syn::parse_str(rest).map_err(|error: syn::Error| {
            let line = text[..skipped].matches('\n').count() + error.span().start().line;
            let place = SourcePlace { file: file.to_owned(), line: line as u64 };
            Refusal { place, why: format!("the file does not parse: {error}") }
        })?;
        let mut opener = Opener { skipped, opened: HashSet::new() };
        opener.visit_file_mut(&mut tree);
        Ok(Self { text, tree, file: file.to_owned(), skipped, opened: opener.opened })
    }

    /// The bytes of a node.
    pub(super) fn range(&self, node: &impl Spanned) -> Range<usize> {
        self.bytes(node.span())
    }

    pub(super) fn bytes(&self, span: Span) -> Range<usize> {
        let range = span.byte_range();
        range.start + self.skipped..range.end + self.skipped
    }

    pub(super) fn of(&self, node: &impl Spanned) -> &'t str {
        &self.text[self.range(node)]
    }

    /// The line, from 1, of a byte.
    pub(super) fn line(&self, at: usize) -> u64 {
        1 + self.text[..at].matches('\n').count() as u64
    }

    /// The blanks that the line of a byte begins with.
    pub(super) fn indent(&self, at: usize) -> &'t str {
        let line = &self.text[self.text[..at].rfind('\n').map_or(0, |end| end + 1)..];
        &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
    }

    pub(super) fn newline(&self) -> &'static str {
        if self.text.contains("\r\n") { "\r\n" } else { "\n" }
    }

    pub(super) fn refuse(&self, at: usize, why: impl Into<String>) -> Refusal {
        self.refuse_line(self.line(at), why)
    }

    pub(super) fn refuse_line(&self, line: u64, why: impl Into<String>) -> Refusal {
        Refusal { place: SourcePlace { file: self.file.clone(), line }, why: why.into() }
    }

    pub(super) fn replace(&self, range: Range<usize>, text: impl Into<String>) -> SourceEdit {
        let range = [range.start as u64, range.end as u64];
        SourceEdit { file: self.file.display().to_string(), range, text: text.into() }
    }

    pub(super) fn insert(&self, at: usize, text: impl Into<String>) -> SourceEdit {
        self.replace(at..at, text)
    }

    /// Whether the call is a macro's.
    pub(super) fn is_macro(&self, call: &Expr) -> bool {
        self.opened.contains(&self.range(call).start)
    }

    /// The nodes that contain the bytes, from the outermost inwards.
    pub(super) fn around(&self, range: &Range<usize>) -> Vec<RustNode<'_>> {
        let mut found = Enclosing { source: self, range: range.clone(), nodes: Vec::new() };
        found.visit_file(&self.tree);
        found.nodes
    }

    /// The expression that is exactly these bytes; of several, such as one in a statement, the innermost.
    pub(super) fn expr(&self, range: &Range<usize>) -> Option<&Expr> {
        self.around(range).into_iter().rev().find_map(|node| match node {
            RustNode::Expr(expr) if self.range(expr) == *range => Some(expr),
            _ => None,
        })
    }
}

/// Puts the arguments of macros into the tree.
struct Opener {
    skipped: usize,
    opened: HashSet<usize>,
}

impl Opener {
    fn open(&mut self, mac: &syn::Macro) -> Option<Expr> {
        let args = arguments(mac)?;
        self.opened.insert(mac.path.span().byte_range().start + self.skipped);
        let path = syn::ExprPath { attrs: Vec::new(), qself: None, path: mac.path.clone() };
        let paren_token = syn::token::Paren { span: *mac.delimiter.span() };
        Some(Expr::Call(syn::ExprCall {
            attrs: Vec::new(),
            func: Box::new(Expr::Path(path)),
            paren_token,
            args,
        }))
    }
}

impl VisitMut for Opener {
    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        if let Expr::Macro(call) = expr
            && let Some(opened) = self.open(&call.mac)
        {
            *expr = opened;
        }
        visit_mut::visit_expr_mut(self, expr);
    }

    fn visit_stmt_mut(&mut self, stmt: &mut Stmt) {
        if let Stmt::Macro(call) = stmt
            && let Some(opened) = self.open(&call.mac)
        {
            *stmt = Stmt::Expr(opened, call.semi_token);
        }
        visit_mut::visit_stmt_mut(self, stmt);
    }
}

/// What a macro is called with, if it is a list of expressions, or `value; times`.
fn arguments(mac: &syn::Macro) -> Option<Punctuated<Expr, Token![,]>> {
    let list = Punctuated::parse_terminated.parse2(mac.tokens.clone());
    let repeat = |input: ParseStream<'_>| {
        let value = input.parse()?;
        input.parse::<Token![;]>()?;
        let mut both = Punctuated::new();
        both.push_value(value);
        both.push_punct(Token![,](input.span()));
        both.push_value(input.parse()?);
        Ok(both)
    };
    list.or_else(|_| repeat.parse2(mac.tokens.clone())).ok()
}

struct Enclosing<'a> {
    source: &'a RustSource<'a>,
    range: Range<usize>,
    nodes: Vec<RustNode<'a>>,
}

impl Enclosing<'_> {
    fn within(&self, node: &impl Spanned) -> bool {
        let outer = self.source.range(node);
        outer.start <= self.range.start && self.range.end <= outer.end
    }
}

impl<'a> Visit<'a> for Enclosing<'a> {
    fn visit_item(&mut self, item: &'a syn::Item) {
        if self.within(item) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_fn(&mut self, item: &'a syn::ItemFn) {
        self.nodes.push(RustNode::Fn(&item.sig.ident, &item.block));
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'a syn::ImplItemFn) {
        if self.within(item) {
            self.nodes.push(RustNode::Fn(&item.sig.ident, &item.block));
            visit::visit_impl_item_fn(self, item);
        }
    }

    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        if self.within(stmt) {
            self.nodes.push(RustNode::Stmt(stmt));
            visit::visit_stmt(self, stmt);
        }
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        if self.within(expr) {
            self.nodes.push(RustNode::Expr(expr));
            visit::visit_expr(self, expr);
        }
    }

    fn visit_pat(&mut self, pat: &'a Pat) {
        if self.within(pat) {
            self.nodes.push(RustNode::Pat);
            visit::visit_pat(self, pat);
        }
    }

    fn visit_field_value(&mut self, field: &'a FieldValue) {
        if self.within(field) {
            self.nodes.push(RustNode::FieldValue(field));
            visit::visit_field_value(self, field);
        }
    }
}
