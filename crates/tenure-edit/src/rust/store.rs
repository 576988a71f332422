//! A store that is made only if it changes the value.
//!
//! What is left out is a store of the value that the thread has just loaded. Whether a program can notice depends on what
//! the store orders.
//!
//! - A relaxed store orders nothing. That it is left out is as if it had been made right behind the store that the load read:
//!   no thread can tell. A fence before it would give it an order, so a function that has one is refused.
//! - A release store also publishes what its thread wrote before. Where it is left out, another thread that takes the value
//!   by `swap` reads an older store and misses those writes: the thread that says "there is work" finds it said, while the
//!   other takes it back and does not see the work. So it is edited only where the value is never taken back: the store is
//!   of a literal `bool`, and this file, in which the flag is declared and private, writes no other value to it. Then a
//!   thread that finds the value set could as well have found the first store of it.
//! - A sequentially consistent store is edited under the same rule, with a load as strong, so that it still comes before
//!   what the thread does next.

use super::place::{declarations, member};
use super::source::{RustNode, RustSource};
use crate::{Refusal, SourcePlace};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Expr, ExprMethodCall, Lit, Member, Stmt, Type, UnOp, Visibility};
use tenure_model::SourceEdit;

/// Puts the store to `name` at the place behind a test.
pub(super) fn test_before(
    source: &RustSource<'_>,
    name: &str,
    place: &SourcePlace,
) -> Result<Vec<SourceEdit>, Refusal> {
    let mut calls = Calls { name, found: Vec::new(), lent: Vec::new() };
    calls.visit_file(&source.tree);
    let refuse = |why: String| source.refuse_line(place.line, why);
    let at_line = |call: &&&ExprMethodCall| {
        let range = source.range(**call);
        (source.line(range.start)..=source.line(range.end)).contains(&place.line)
    };
    let stores = calls.found.iter().filter(|call| call.method == "store").filter(at_line);
    let [store] = stores.collect::<Vec<_>>()[..] else {
        return Err(refuse(format!("there is not one store to `{name}` on this line")));
    };
    let (Some(value), Some(ordering)) = (store.args.get(0), store.args.get(1)) else {
        return Err(refuse(format!("the store to `{name}` is not an atomic's")));
    };
    let range = source.range(*store);
    let around = source.around(&range);
    let is_statement = around.iter().any(|node| {
        matches!(node, RustNode::Stmt(Stmt::Expr(expr, Some(_))) if source.range(expr) == range)
    });
    if !is_statement {
        return Err(refuse(format!("the store to `{name}` is part of an expression")));
    }
    if !is_simple(&store.receiver) {
        let why = format!("`{}` may do something each time", source.of(&store.receiver));
        return Err(refuse(why));
    }
    let is_bound = !is_simple(value);
    if is_bound && source.of(&store.receiver).contains('[') {
        let why = format!("what is stored to `{name}` may change which element it is");
        return Err(refuse(why));
    }
    let strength = match last_of(ordering) {
        Some(last) if ["Relaxed", "Release", "SeqCst"].contains(&last.as_str()) => last,
        _ => return Err(refuse(format!("the order `{}` is not known here", source.of(ordering)))),
    };
    if strength == "Relaxed" {
        let fence = around.iter().find_map(|node| match node {
            RustNode::Fn(_, block) => fence(block),
            _ => None,
        });
        if let Some(fence) = fence {
            return Err(source.refuse(source.bytes(fence).start, "a fence orders the store"));
        }
    } else {
        refuse_taken_back(source, &calls, name, value, &strength)?;
    }
    Ok(edited(source, store, (value, is_bound), ordering, &strength))
}

fn edited(
    source: &RustSource<'_>,
    store: &ExprMethodCall,
    (value, is_bound): (&Expr, bool),
    ordering: &Expr,
    strength: &str,
) -> Vec<SourceEdit> {
    let range = source.range(store);
    let (indent, newline) = (source.indent(range.start), source.newline());
    let step = if indent.contains('\t') { "\t" } else { "    " };
    let receiver = source.of(&store.receiver);
    let order = match strength {
        "SeqCst" => source.of(ordering).to_owned(),
        _ => match source.of(ordering).rsplit_once("::") {
            Some((path, _)) => format!("{path}::Relaxed"),
            None if strength == "Relaxed" => strength.to_owned(),
            None => "core::sync::atomic::Ordering::Relaxed".to_owned(),
        },
    };
    let load = format!("{receiver}.load({order})");
    let end = range.end + source.text[range.end..].find(';').map_or(0, |at| at + 1);
    let bound = if last_of(&store.receiver).as_deref() == Some("value") { "new" } else { "value" };
    let test = match value {
        Expr::Lit(literal) if matches!(&literal.lit, Lit::Bool(literal) if literal.value) => {
            format!("!{load}")
        }
        Expr::Lit(literal) if matches!(literal.lit, Lit::Bool(_)) => load,
        _ if is_bound => format!("{load} != {bound}"),
        _ => format!("{load} != {}", source.of(value)),
    };
    if !is_bound {
        return vec![
            source.insert(range.start, format!("if {test} {{{newline}{indent}{step}")),
            source.insert(end, format!("{newline}{indent}}}")),
        ];
    }
    let inner = format!("{newline}{indent}{step}");
    let of_value = source.of(value);
    let open = format!("{{{inner}let {bound} = {of_value};{inner}if {test} {{{inner}{step}");
    vec![
        source.insert(range.start, open),
        source.replace(source.range(value), bound),
        source.insert(end, format!("{inner}}}{newline}{indent}}}")),
    ]
}

/// Refuses a store that publishes, unless the flag is never taken back.
fn refuse_taken_back(
    source: &RustSource<'_>,
    calls: &Calls<'_>,
    name: &str,
    value: &Expr,
    strength: &str,
) -> Result<(), Refusal> {
    let start = source.range(value).start;
    let literal = |expr: &Expr| match expr {
        Expr::Lit(literal) => match &literal.lit {
            Lit::Bool(literal) => Some(literal.value),
            _ => None,
        },
        _ => None,
    };
    let Some(set) = literal(value) else {
        return Err(source.refuse(
            start,
            format!("the store is {strength}: it publishes what was written before"),
        ));
    };
    let other = calls.found.iter().find(|call| {
        let reads = ["load", "fmt", "as_ref", "borrow"].iter().any(|read| call.method == read);
        let same = call.method == "store" && call.args.first().and_then(literal) == Some(set);
        !reads && !same
    });
    if let Some(other) = other {
        let why = format!(
            "the store is {strength}, and `{}` may take the value back here",
            source.of(&other.method)
        );
        return Err(source.refuse(source.range(&other.method).start, why));
    }
    if let Some(lent) = calls.lent.first() {
        let why = format!("the store is {strength}, and `{name}` is lent to others here");
        return Err(source.refuse(source.range(lent).start, why));
    }
    let all = declarations(source).all;
    let private = all.iter().any(|found| match (found.as_struct(), found.as_static()) {
        (Some(item), _) => member(&item.fields, name)
            .is_some_and(|(_, field)| is_own_atomic(source, &field.vis, &field.ty)),
        (_, Some(item)) => item.ident == name && is_own_atomic(source, &item.vis, &item.ty),
        _ => false,
    });
    if private {
        return Ok(());
    }
    Err(source.refuse(
        start,
        format!("the store is {strength}, and `{name}` is not private to this file"),
    ))
}

/// Whether a declaration is private, and an atomic that no other owner has: none in an `Arc`.
fn is_own_atomic(source: &RustSource<'_>, vis: &Visibility, ty: &Type) -> bool {
    let last = source.of(ty).rsplit("::").next().unwrap_or_default();
    matches!(vis, Visibility::Inherited) && last.starts_with("Atomic")
}

/// The calls of methods of what has a name, and its other uses.
struct Calls<'a> {
    name: &'a str,
    found: Vec<&'a ExprMethodCall>,
    lent: Vec<&'a Expr>,
}

impl<'a> Visit<'a> for Calls<'a> {
    fn visit_expr_method_call(&mut self, call: &'a ExprMethodCall) {
        let before = self.lent.len();
        visit::visit_expr_method_call(self, call);
        if last_of(&call.receiver).is_some_and(|last| last == self.name) {
            self.found.push(call);
            // The receiver is visited first.
            self.lent.remove(before);
        }
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        let is_named = matches!(expr, Expr::Field(_) | Expr::Path(_));
        if is_named && last_of(expr).is_some_and(|last| last == self.name) {
            self.lent.push(expr);
        }
        visit::visit_expr(self, expr);
    }
}

/// The last part of the path of a variable or a member.
pub(super) fn last_of(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Field(field) => match &field.member {
            Member::Named(name) => Some(name.unraw().to_string()),
            Member::Unnamed(index) => Some(index.index.to_string()),
        },
        Expr::Path(path) => Some(path.path.segments.last()?.ident.unraw().to_string()),
        Expr::Paren(inner) => last_of(&inner.expr),
        Expr::Index(index) => last_of(&index.expr),
        Expr::Reference(inner) => last_of(&inner.expr),
        Expr::Unary(unary) if matches!(unary.op, UnOp::Deref(_)) => last_of(&unary.expr),
        _ => None,
    }
}

/// Whether the expression is the same each time, and does nothing else.
fn is_simple(expr: &Expr) -> bool {
    match expr {
        Expr::Path(_) | Expr::Lit(_) => true,
        Expr::Field(field) => is_simple(&field.base),
        Expr::Paren(inner) => is_simple(&inner.expr),
        Expr::Index(index) => is_simple(&index.expr) && is_simple(&index.index),
        Expr::Reference(inner) => is_simple(&inner.expr),
        Expr::Unary(unary) => is_simple(&unary.expr),
        _ => false,
    }
}

fn fence(block: &syn::Block) -> Option<proc_macro2::Span> {
    struct Fence(Option<proc_macro2::Span>);
    impl<'a> Visit<'a> for Fence {
        fn visit_expr_call(&mut self, call: &'a syn::ExprCall) {
            if last_of(&call.func).is_some_and(|last| last.ends_with("fence")) {
                self.0 = Some(call.func.span());
            }
            visit::visit_expr_call(self, call);
        }
    }
    let mut found = Fence(None);
    found.visit_block(block);
    found.0
}
