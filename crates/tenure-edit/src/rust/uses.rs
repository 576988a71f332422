//! Uses of what was put on lines of its own, where the compiler wants the value and not its padding.

use super::apart::{Value, is_tight, wrap_value};
use super::diagnostic::{Diagnostic, quoted};
use super::place::Mentions;
use super::source::{RustNode, RustSource};
use super::stand_in::StandIn;
use std::ops::Range;
use syn::Expr;
use tenure_model::SourceEdit;

/// An error of the compiler, in the file where it is.
pub(super) struct ErrorSite<'s> {
    pub(super) source: &'s RustSource<'s>,
    pub(super) error: &'s Diagnostic,
    pub(super) range: Range<usize>,
    /// Whether it is the file of the declaration.
    pub(super) here: bool,
}

impl<'s> ErrorSite<'s> {
    pub(super) fn expr(&self) -> Option<&'s Expr> {
        self.source.expr(&self.range)
    }

    /// The innermost expression that contains the error and more.
    pub(super) fn parent(&self, range: &Range<usize>) -> Option<&'s Expr> {
        self.source.around(range).into_iter().rev().find_map(|node| match node {
            RustNode::Expr(expr) if self.source.range(expr) != *range => Some(expr),
            _ => None,
        })
    }
}

/// The edits that satisfy the compiler, or `None`.
pub(super) fn fix(
    site: &ErrorSite<'_>,
    padded: &StandIn,
    names: &Mentions<'_>,
) -> Option<Vec<SourceEdit>> {
    let source = site.source;
    match site.error.code() {
        "E0308" => mismatched(site, padded, names),
        "E0277" => missing_trait(site, padded),
        "E0368" | "E0369" => {
            let of_type = |(_, label): &(_, &str)| {
                padded.is(label) || label.contains('`') && padded.is(last_quoted(label))
            };
            let sides = site.error.labelled().filter(of_type);
            let exprs = sides.filter_map(|(span, _)| source.expr(&span.range()));
            some(exprs.flat_map(|expr| deref(site, expr)).collect())
        }
        "E0600" => match site.expr()? {
            Expr::Unary(unary) => Some(deref(site, &unary.expr)),
            _ => None,
        },
        "E0604" | "E0605" | "E0606" | "E0607" => match site.expr()? {
            Expr::Cast(cast) => Some(deref(site, &cast.expr)),
            _ => None,
        },
        // A `*` too many, of a member of another type that has the name.
        "E0614" => match site.expr()? {
            Expr::Unary(unary) if source.of(&*unary.expr).starts_with('*') => {
                Some(vec![source.replace(source.range(&unary.op), "")])
            }
            _ => None,
        },
        // This member access is in another file than the declaration.
        "E0609" => match site.parent(&site.range)? {
            Expr::Field(field) => pointer(site, &field.base, names),
            _ => None,
        },
        // The padding type's `Deref` lends: a move takes the value out.
        "E0507" => match site.expr()? {
            Expr::Unary(unary) if matches!(unary.op, syn::UnOp::Deref(_)) => {
                let star = source.range(&unary.op);
                Some(vec![source.replace(star, ""), source.insert(site.range.end, padded.take())])
            }
            expr => Some(vec![source.insert(site.range.end, padded.take())])
                .filter(|_| is_tight(Some(expr))),
        },
        // No `Deref` in constants, but members.
        "E0015" if padded.is_own() => match site.expr()? {
            Expr::Reference(inner) if names.are(&inner.expr) => {
                Some(vec![source.insert(site.range.end, padded.take())])
            }
            expr if names.are(expr) => Some(vec![source.insert(site.range.end, padded.take())]),
            _ => None,
        },
        "E0599" => match site.parent(&site.range)? {
            Expr::MethodCall(call) => taken_twice(site, &call.receiver, padded, names),
            _ => None,
        },
        _ => None,
    }
}

fn mismatched(
    site: &ErrorSite<'_>,
    padded: &StandIn,
    names: &Mentions<'_>,
) -> Option<Vec<SourceEdit>> {
    let source = site.source;
    let (expected, found) = site.error.expected()?;
    match (padded.is(expected), padded.is(found)) {
        (true, false) => {
            let scrutinee = site.error.labelled().find(|(_, label)| {
                label.starts_with("this expression has type") && padded.is(quoted(label))
            });
            if let Some((span, _)) = scrutinee {
                return Some(deref(site, source.expr(&span.range())?));
            }
            let is_pattern = matches!(source.around(&site.range).last(), Some(RustNode::Pat));
            if is_pattern {
                return None;
            }
            // The other side of a comparison, or another argument, was the value: it still is.
            if let Some(beside) = beside(site, names) {
                return Some(deref(site, beside));
            }
            let expr = site.expr()?;
            if expected.starts_with('&') {
                return None;
            }
            let shorthand =
                source.around(&site.range).into_iter().rev().find_map(|node| match node {
                    RustNode::FieldValue(field) => Some(field),
                    _ => None,
                });
            let shorthand = shorthand
                .filter(|field| field.colon_token.is_none())
                .map(|field| source.of(&field.member).to_owned());
            let value = Value { range: source.range(expr), shorthand };
            Some(wrap_value(source, &value, padded, site.here))
        }
        (false, true) => {
            let expr = site.expr()?;
            if found.starts_with('&') {
                return matches!(expr, Expr::Reference(_)).then(|| deref(site, expr));
            }
            if is_copied(expected) {
                return Some(deref(site, expr));
            }
            Some(vec![source.insert(site.range.end, padded.take())])
                .filter(|_| is_tight(Some(expr)))
        }
        (false, false) => taken_twice(site, site.expr()?, padded, names),
        (true, true) => None,
    }
}

/// A member, or static, whose type made the compiler expect what it did.
fn beside<'s>(site: &ErrorSite<'s>, names: &Mentions<'_>) -> Option<&'s Expr> {
    let source = site.source;
    let because = site.error.labelled().find_map(|(span, label)| {
        let expr = source.expr(&span.range())?;
        (label.starts_with("expected because") && names.are(expr)).then_some(expr)
    });
    if because.is_some() {
        return because;
    }
    let parent = site.parent(&site.range)?;
    match parent {
        Expr::Binary(binary) => Some(&*binary.left).filter(|left| names.are(left)),
        Expr::Call(call) => {
            let is_macro = source.is_macro(parent);
            call.args.iter().find(|arg| {
                let reference = matches!(arg, Expr::Reference(_));
                source.range(*arg) != site.range
                    && (is_macro || reference)
                    && names.are_borrowed(arg)
            })
        }
        _ => None,
    }
}

fn missing_trait(site: &ErrorSite<'_>, padded: &StandIn) -> Option<Vec<SourceEdit>> {
    let source = site.source;
    if let Some(sides) = site.error.label().strip_prefix("no implementation for ") {
        let operator = &source.text[site.range.clone()];
        let (left, right) = quoted(sides).split_once(&format!(" {operator} "))?;
        let Expr::Binary(binary) = site.parent(&site.range)? else { return None };
        let mut edits = Vec::new();
        if padded.is(left) {
            edits.extend(deref(site, &binary.left));
        }
        if padded.is(right) {
            edits.extend(deref(site, &binary.right));
        }
        return some(edits);
    }
    if !site
        .error
        .message
        .split('`')
        .any(|words| padded.is(words.split(':').next().unwrap_or(words)))
    {
        return None;
    }
    let expr = site.expr()?;
    let moved = site.error.message.ends_with("is not an iterator");
    if moved && !matches!(expr, Expr::Reference(_)) {
        return Some(vec![source.insert(site.range.end, padded.take())]);
    }
    Some(deref(site, expr))
}

/// One more `*` for a pointer that is padded.
fn pointer(site: &ErrorSite<'_>, base: &Expr, names: &Mentions<'_>) -> Option<Vec<SourceEdit>> {
    match base {
        Expr::Paren(inner) => pointer(site, &inner.expr, names),
        Expr::Unary(unary) if names.are(&unary.expr) => {
            Some(vec![site.source.insert(site.source.range(&unary.expr).start, "*")])
        }
        _ => None,
    }
}

/// `into_inner` of the padding type hides the value's own: both are called.
fn taken_twice(
    site: &ErrorSite<'_>,
    expr: &Expr,
    padded: &StandIn,
    names: &Mentions<'_>,
) -> Option<Vec<SourceEdit>> {
    match expr {
        Expr::MethodCall(call)
            if call.method == "into_inner" && !padded.is_own() && names.are(&call.receiver) =>
        {
            let end = site.source.range(&call.receiver).end;
            Some(vec![site.source.insert(end, padded.take())])
        }
        _ => None,
    }
}

/// Dereferences the value; of a reference to it, what it refers to.
fn deref(site: &ErrorSite<'_>, expr: &Expr) -> Vec<SourceEdit> {
    let source = site.source;
    let range = source.range(expr);
    match expr {
        Expr::Reference(reference) => return deref(site, &reference.expr),
        Expr::Paren(paren) => return deref(site, &paren.expr),
        _ => {}
    }
    let tight = is_tight(Some(expr)) || matches!(expr, Expr::Unary(_));
    if tight && !is_base(site, &range) {
        return vec![source.insert(range.start, "*")];
    }
    let (open, close) = if tight { ("(*", ")") } else { ("*(", ")") };
    vec![source.insert(range.start, open), source.insert(range.end, close)]
}

/// Whether something behind the expression binds more tightly than a `*` before it.
fn is_base(site: &ErrorSite<'_>, range: &Range<usize>) -> bool {
    let same = |base: &Expr| site.source.range(base) == *range;
    match site.parent(range) {
        Some(Expr::MethodCall(call)) => same(&call.receiver),
        Some(Expr::Field(field)) => same(&field.base),
        Some(Expr::Index(index)) => same(&index.expr),
        Some(Expr::Try(attempt)) => same(&attempt.expr),
        _ => false,
    }
}

/// Whether values of the type are copied: the `*` before one is shorter than a call that takes it out.
fn is_copied(words: &str) -> bool {
    let numbers = ["u8", "u16", "u32", "u64", "u128", "i8", "i16", "i32", "i64", "i128"];
    let others =
        ["usize", "isize", "bool", "char", "f32", "f64", "integer", "floating-point number"];
    numbers.contains(&words)
        || others.contains(&words)
        || words.starts_with("&") && !words.starts_with("&mut")
        || words.starts_with('*')
}

fn last_quoted(label: &str) -> &str {
    label.split('`').rfind(|words| !words.is_empty()).unwrap_or(label)
}

fn some(edits: Vec<SourceEdit>) -> Option<Vec<SourceEdit>> {
    (!edits.is_empty()).then_some(edits)
}
