//! Additions, counted per thread.
//!
//! The declaration's type is replaced, and the compiler finds the uses: `fetch_add` whose result is not used becomes `add`,
//! `load` becomes `sum`. Any other use is refused. Two things that an atomic gives are lost, and refused where they show:
//!
//! - Order: a load with `Acquire` that reads an addition with `Release` sees what was written before it. A sum orders nothing.
//! - One value at a time: where threads also subtract, a sum may be a number that the count never was. So it may be shown,
//!   but not decided on.

use super::apart::{Value, constructed, fields_of, is_tight, refuse_symbol};
use super::place::{DeclaredItem, declarations, member, refuse_foreign};
use super::source::{RustNode, RustSource};
use super::stand_in::{OwnType, StandIn, seen_by};
use super::store::last_of;
use super::uses::ErrorSite;
use crate::{EditOptions, Refusal, SourcePlace};
use std::ops::Range;
use syn::visit::{self, Visit};
use syn::{BinOp, Expr, ExprMethodCall, Lit, Pat, Stmt, Type};
use tenure_model::SourceEdit;

/// A count, as it is declared before the change.
pub(super) struct Count {
    /// What its values are: `u64`, `i32`.
    number: String,
    /// Whether threads subtract, in the file of the declaration.
    is_gauge: bool,
    pub(super) stand_in: StandIn,
    /// The text of the stand-in, if it has to be written into the program.
    missing: Option<&'static OwnType>,
}

/// The type and the first value of a count.
pub(super) fn per_thread(
    source: &RustSource<'_>,
    name: &str,
    place: &SourcePlace,
    options: &EditOptions,
) -> Result<Vec<SourceEdit>, Refusal> {
    let all = declarations(source);
    let found = declaration(&all, source, name, place)?;
    let Count { stand_in, missing, .. } = Count::of(source, found, name, options)?;
    Calls::of(source, name).refuse_order(source)?;
    let mut edits = Vec::new();
    let (ty, vis, values) = match found.as_static() {
        Some(item) => {
            refuse_symbol(source, found)?;
            let value = Value { range: source.range(&item.expr), shorthand: None };
            (&*item.ty, &item.vis, vec![value])
        }
        None => {
            refuse_foreign(source, found)?;
            let fields = fields_of(source, found, &[name.to_owned()])?;
            let field = fields[0].1;
            (&field.ty, &field.vis, constructed(source, found, &fields))
        }
    };
    let at = source.range(ty);
    let path = stand_in.path_at(source, at.start, true).unwrap_or_default();
    edits.push(source.replace(at, path));
    for value in values {
        if let Some(edit) = from_zero(source, &value.range, &stand_in, true)? {
            edits.push(edit);
        }
    }
    if let Some(own) = missing {
        edits.push(own.declare(
            source,
            found,
            &stand_in,
            &seen_by([vis].into_iter(), source),
            options,
        ));
    }
    Ok(edits)
}

/// The static of the name at the place, or the type there that has a member of that name.
pub(super) fn declaration<'d, 'a>(
    all: &'d super::place::Declarations<'a>,
    source: &RustSource<'_>,
    name: &str,
    place: &SourcePlace,
) -> Result<&'d DeclaredItem<'a>, Refusal> {
    let names = [name.to_owned()];
    match all.type_at(place, &names) {
        Ok(found) if fields_of(source, found, &names).is_ok() => Ok(found),
        Err(refusal) if all.static_at(place, name).is_err() => Err(refusal),
        _ => all.static_at(place, name),
    }
}

impl Count {
    pub(super) fn of(
        source: &RustSource<'_>,
        found: &DeclaredItem<'_>,
        name: &str,
        options: &EditOptions,
    ) -> Result<Self, Refusal> {
        let ty = match (found.as_static(), found.as_struct()) {
            (Some(item), _) => Some(&*item.ty),
            (_, Some(item)) => member(&item.fields, name).map(|(_, field)| &field.ty),
            _ => None,
        };
        let number = ty.and_then(number_of).ok_or_else(|| {
            let why = format!("`{name}` is not an atomic number");
            source.refuse(ty.map_or(found.range.start, |ty| source.range(ty).start), why)
        })?;
        let is_gauge = Calls::of(source, name).all.iter().any(|call| call.method == "fetch_sub");
        let is_gauge = is_gauge || number.starts_with('i');
        let (stand_in, missing) = StandIn::count(source, &found.scope, options, is_gauge);
        Ok(Self { number, is_gauge, stand_in, missing })
    }
}

/// `u64` of `AtomicU64`, or of one that is padded.
fn number_of(ty: &Type) -> Option<String> {
    let Type::Path(path) = ty else { return None };
    let last = path.path.segments.last()?;
    let name = last.ident.to_string();
    if let syn::PathArguments::AngleBracketed(arguments) = &last.arguments {
        return match arguments.args.first() {
            Some(syn::GenericArgument::Type(inner)) if name == "CachePadded" => number_of(inner),
            _ => None,
        };
    }
    let number = name.strip_prefix("Atomic")?.to_lowercase();
    ["u64", "u32", "u16", "u8", "usize", "i64", "i32", "i16", "i8", "isize"]
        .contains(&number.as_str())
        .then_some(number)
}

/// The new type's first value, for one that was 0 and is no `Default`.
fn from_zero(
    source: &RustSource<'_>,
    range: &Range<usize>,
    stand_in: &StandIn,
    here: bool,
) -> Result<Option<SourceEdit>, Refusal> {
    let expr = source.expr(range);
    match expr.and_then(first_value) {
        Some(First::Default) => Ok(None),
        Some(First::Zero) => {
            let path = stand_in.path_at(source, range.start, here);
            let text = path.map_or("Default::default()".to_owned(), |path| path + "::new()");
            Ok(Some(source.replace(range.clone(), text)))
        }
        None => Err(source.refuse(range.start, "the count does not start at a literal 0")),
    }
}

enum First {
    /// `Default::default()`, of whatever type.
    Default,
    Zero,
}

fn first_value(expr: &Expr) -> Option<First> {
    match expr {
        Expr::Call(call) => {
            let Expr::Path(path) = &*call.func else { return None };
            let segments = &path.path.segments;
            let last = &segments.last()?.ident;
            if last == "default" && call.args.is_empty() {
                let is_trait = segments.len() == 2 && segments[0].ident == "Default";
                return Some(if is_trait { First::Default } else { First::Zero });
            }
            let is_new = last == "new" || last == "from";
            first_value(call.args.first().filter(|_| is_new && call.args.len() == 1)?)
                .map(|_| First::Zero)
        }
        Expr::Lit(literal) => match &literal.lit {
            Lit::Int(number) if number.base10_digits() == "0" => Some(First::Zero),
            _ => None,
        },
        Expr::MethodCall(call) if call.method == "into" => first_value(&call.receiver),
        _ => None,
    }
}

/// The edit for a use, or `None` for an error of another kind.
pub(super) fn fix(
    site: &ErrorSite<'_>,
    count: &Count,
    name: &str,
) -> Result<Option<Vec<SourceEdit>>, Refusal> {
    let source = site.source;
    match site.error.code() {
        "E0308" => {
            let Some((expected, _)) = site.error.expected() else { return Ok(None) };
            if expected.starts_with('&') || !count.stand_in.is(expected) || site.expr().is_none() {
                return Ok(None);
            }
            let edit = from_zero(source, &site.range, &count.stand_in, site.here)?;
            Ok(edit.map(|edit| vec![edit]))
        }
        "E0599" if site.error.message.split('`').any(|words| count.stand_in.is(words)) => {
            Calls::of(source, name).refuse_order(source)?;
            match site.parent(&site.range) {
                Some(Expr::MethodCall(call)) => rewritten(site, call, count).map(Some),
                _ => Ok(None),
            }
        }
        _ => Ok(None),
    }
}

fn rewritten(
    site: &ErrorSite<'_>,
    call: &ExprMethodCall,
    count: &Count,
) -> Result<Vec<SourceEdit>, Refusal> {
    let source = site.source;
    let refuse = |why: String| Err(source.refuse(site.range.start, why));
    let range = source.range(call);
    let behind = source.range(&call.method).start..range.end;
    let around = source.around(&range);
    let cast = if count.is_gauge { "i64" } else { "u64" };
    match (call.method.to_string().as_str(), call.args.first()) {
        (method @ ("fetch_add" | "fetch_sub"), Some(n)) => {
            let is_less = method == "fetch_sub";
            if is_less && !count.is_gauge {
                return refuse(
                    "the count is subtracted from outside its declaration's file".to_owned(),
                );
            }
            let discarded = around.iter().find_map(|node| match node {
                RustNode::Stmt(Stmt::Expr(expr, Some(_))) if source.range(expr) == range => {
                    Some(range.start)
                }
                RustNode::Stmt(Stmt::Local(local)) if matches!(local.pat, Pat::Wild(_)) => {
                    let init = local.init.as_ref().filter(|init| source.range(&init.expr) == range);
                    init.map(|_| source.range(local).start)
                }
                _ => None,
            });
            let Some(start) = discarded else {
                return refuse(format!("the result of `{method}` is used"));
            };
            let n = added(source, n, is_less, count, cast);
            let mut edits = vec![source.replace(behind, format!("add({n})"))];
            if start < range.start {
                edits.push(source.replace(start..range.start, ""));
            }
            Ok(edits)
        }
        ("load", Some(_)) => {
            if count.is_gauge && decides(source, &around, &range) {
                return refuse(
                    "the program decides on the count, and a sum may be a number that it never was"
                        .to_owned(),
                );
            }
            let mut sum = "sum()".to_owned();
            // The text that is written into the program sums what wraps around.
            let own = count.stand_in.is_own() && count.is_gauge;
            let is_clamped = count.is_gauge && count.number.starts_with('u');
            let mut open = String::new();
            if is_clamped {
                if own {
                    open += "(";
                    sum += " as i64)";
                }
                sum += ".max(0)";
            }
            let from = if own && !is_clamped { "u64" } else { cast };
            if count.number == from {
                return Ok(wrapped(source, &range, behind, &open, &sum));
            }
            sum = format!("{sum} as {}", count.number);
            if !stands_alone(source.text, &range) {
                open = format!("({open}");
                sum += ")";
            }
            Ok(wrapped(source, &range, behind, &open, &sum))
        }
        (method, _) => refuse(format!("`{method}` is neither an addition nor a load")),
    }
}

fn wrapped(
    source: &RustSource<'_>,
    range: &Range<usize>,
    behind: Range<usize>,
    open: &str,
    sum: &str,
) -> Vec<SourceEdit> {
    let mut edits = vec![source.replace(behind, sum)];
    if !open.is_empty() {
        edits.push(source.insert(range.start, open));
    }
    edits
}

/// What is added, as the new type takes it.
fn added(source: &RustSource<'_>, n: &Expr, is_less: bool, count: &Count, cast: &str) -> String {
    if let Expr::Unary(unary) = n
        && matches!(unary.op, syn::UnOp::Neg(_))
        && matches!(*unary.expr, Expr::Lit(_))
    {
        return added(source, &unary.expr, !is_less, count, cast);
    }
    let text = source.of(n);
    let own = count.stand_in.is_own();
    if let Expr::Lit(literal) = n
        && let Lit::Int(number) = &literal.lit
    {
        let digits = text.strip_suffix(number.suffix()).unwrap_or(text).trim_end_matches('_');
        return match (is_less, own) {
            (false, _) => digits.to_owned(),
            (true, false) => format!("-{digits}"),
            (true, true) => format!("{digits}_u64.wrapping_neg()"),
        };
    }
    let to = if own { "u64" } else { cast };
    let inner = match n {
        _ if is_tight(Some(n)) => text.to_owned(),
        // A literal in it would be of another type without the call.
        _ if count.number != to => format!("{{ let n: {} = {text}; n }}", count.number),
        _ => format!("({text})"),
    };
    match (is_less, count.number == to) {
        (false, true) => text.to_owned(),
        (false, false) => format!("{inner} as {to}"),
        (true, true) => format!("{inner}.wrapping_neg()"),
        (true, false) => format!("({inner} as {to}).wrapping_neg()"),
    }
}

/// Whether a cast needs no parentheses: nothing beside the expression can be read as part of it.
fn stands_alone(text: &str, range: &Range<usize>) -> bool {
    let before = text[..range.start].trim_end();
    let after = text[range.end..].trim_start();
    let starts =
        before.ends_with(['(', ',', '{', ';', '}', '[', ':']) || before.ends_with("return");
    (starts || before.ends_with('=') && !before.ends_with("..="))
        && after.starts_with([',', ';', ')', '}', ']'])
}

/// Whether a condition or a comparison depends on the expression, also by way of a variable.
fn decides(source: &RustSource<'_>, around: &[RustNode<'_>], range: &Range<usize>) -> bool {
    let is_in = |expr: &Expr| {
        let outer = source.range(expr);
        outer.start <= range.start && range.end <= outer.end
    };
    let mut decided = Decided { names: Vec::new() };
    decided.visit_file(&source.tree);
    around.iter().any(|node| match node {
        // `len() == 0`, where `len` returns the count.
        RustNode::Fn(name, _) => decided.names.contains(&name.to_string()),
        RustNode::Expr(Expr::If(expr)) => is_in(&expr.cond),
        RustNode::Expr(Expr::While(expr)) => is_in(&expr.cond),
        RustNode::Expr(Expr::Match(expr)) => is_in(&expr.expr),
        RustNode::Expr(Expr::Binary(expr)) => is_comparison(&expr.op),
        RustNode::Expr(expr @ Expr::Call(_)) => {
            source.is_macro(expr) && source.of(*expr).starts_with("assert")
        }
        RustNode::Stmt(Stmt::Local(local)) => match &local.pat {
            Pat::Wild(_) => false,
            Pat::Ident(pat) => decided.names.contains(&pat.ident.to_string()),
            _ => true,
        },
        _ => false,
    })
}

fn is_comparison(op: &BinOp) -> bool {
    matches!(
        op,
        BinOp::Eq(_) | BinOp::Ne(_) | BinOp::Lt(_) | BinOp::Le(_) | BinOp::Gt(_) | BinOp::Ge(_)
    )
}

/// The variables that a file decides on.
struct Decided {
    names: Vec<String>,
}

impl Decided {
    fn add(&mut self, expr: &Expr) {
        struct Paths<'n>(&'n mut Vec<String>);
        impl<'a> Visit<'a> for Paths<'_> {
            fn visit_ident(&mut self, ident: &'a syn::Ident) {
                self.0.push(ident.to_string());
            }
        }
        Paths(&mut self.names).visit_expr(expr);
    }
}

impl<'a> Visit<'a> for Decided {
    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::If(expr) => self.add(&expr.cond),
            Expr::While(expr) => self.add(&expr.cond),
            Expr::Match(expr) => self.add(&expr.expr),
            Expr::Binary(binary) if is_comparison(&binary.op) => self.add(expr),
            _ => {}
        }
        visit::visit_expr(self, expr);
    }
}

/// The atomic operations of a file on what has a name.
struct Calls<'a> {
    name: &'a str,
    all: Vec<&'a ExprMethodCall>,
}

impl<'a> Calls<'a> {
    fn of(source: &'a RustSource<'_>, name: &'a str) -> Self {
        let mut calls = Self { name: name.trim_start_matches('_'), all: Vec::new() };
        calls.visit_file(&source.tree);
        calls
    }

    /// Refuses a count that also orders other memory.
    fn refuse_order(&self, source: &RustSource<'_>) -> Result<(), Refusal> {
        let ordered = |methods: &[&str]| {
            let mut found =
                self.all.iter().filter(|call| methods.iter().any(|name| call.method == name));
            found.find(|call| {
                call.args.last().and_then(last_of).is_some_and(|order| order != "Relaxed")
            })
        };
        match (ordered(&["fetch_add", "fetch_sub"]), ordered(&["load"])) {
            (Some(_), Some(load)) => {
                let why = format!(
                    "`{}` also orders other memory, which a sum does not: make its operations Relaxed if nothing depends on that",
                    self.name
                );
                Err(source.refuse(source.range(&load.method).start, why))
            }
            _ => Ok(()),
        }
    }
}

impl<'a> Visit<'a> for Calls<'a> {
    fn visit_expr_method_call(&mut self, call: &'a ExprMethodCall) {
        if last_of(&call.receiver).is_some_and(|last| last.trim_start_matches('_') == self.name) {
            self.all.push(call);
        }
        visit::visit_expr_method_call(self, call);
    }
}
