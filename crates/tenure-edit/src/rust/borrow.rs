//! A clone of an `Arc` or `Rc` that stays in its function, borrowed.
//!
//! Borrowed is only what cannot be told from its clone: a place, so that no guard lives longer; of a type that this file
//! shows to be an `Arc` or `Rc`, so that nothing is copied; and of a variable that is called, read and lent, but not moved.
//! The borrow checker says the rest: that the place outlives the borrow and is not assigned meanwhile.

use super::source::RustSource;
use super::store::last_of;
use crate::{Refusal, SourcePlace};
use std::ops::Range;
use syn::visit::{self, Visit};
use syn::{Block, Expr, Ident, Local, Pat, Stmt, Type};
use tenure_model::SourceEdit;

/// Borrows what the statement at the place clones.
pub(super) fn borrow(
    source: &RustSource<'_>,
    place: &SourcePlace,
) -> Result<Vec<SourceEdit>, Refusal> {
    let mut clones = Clones { source, line: place.line, found: Vec::new() };
    clones.visit_file(&source.tree);
    let refuse = |why: String| source.refuse_line(place.line, why);
    let [(block, local)] = clones.found[..] else {
        return Err(refuse("there is not one variable here that a clone is bound to".to_owned()));
    };
    let (pat, ty) = match &local.pat {
        Pat::Type(typed) => (&*typed.pat, Some(&*typed.ty)),
        pat => (pat, None),
    };
    let Pat::Ident(name) = pat else {
        return Err(refuse("the clone is taken apart".to_owned()));
    };
    let Some((init, (cloned, explicit))) =
        local.init.as_ref().and_then(|init| Some((&init.expr, cloned(&init.expr)?)))
    else {
        return Err(refuse(format!("`{}` is not bound to a clone", name.ident)));
    };
    let of_cloned = source.of(cloned);
    if name.mutability.is_some() || name.by_ref.is_some() {
        return Err(refuse(format!("`{}` may be changed", name.ident)));
    }
    if !is_place(cloned) {
        let why = format!(
            "`{of_cloned}` is not a variable or a member: what it holds would be held longer"
        );
        return Err(refuse(why));
    }
    if !explicit && !is_shared(source, cloned) {
        let why = format!("this file does not show that `{of_cloned}` is an Arc or Rc");
        return Err(refuse(why));
    }
    let mut uses =
        VariableUses { source, name: &name.ident, kept: None, lent: 0, stars: Vec::new() };
    let start = source.range(local).end;
    for stmt in block.stmts.iter().filter(|stmt| source.range(*stmt).start >= start) {
        uses.visit_stmt(stmt);
    }
    if let Some(kept) = uses.kept {
        let why = format!("`{}` may outlive its function here", name.ident);
        return Err(source.refuse(kept.start, why));
    }
    let mut edits = vec![source.replace(source.range(&**init), format!("&{of_cloned}"))];
    // One `*` would reach the `Arc`, and a `clone` behind it copy that.
    edits.extend(uses.stars.into_iter().map(|at| source.insert(at, "*")));
    edits.extend(ty.map(|ty| source.insert(source.range(ty).start, "&")));
    Ok(edits)
}

/// What is cloned, and whether by `Arc::clone` or `Rc::clone`.
fn cloned(init: &Expr) -> Option<(&Expr, bool)> {
    match init {
        Expr::MethodCall(call) if call.method == "clone" && call.args.is_empty() => {
            Some((&call.receiver, false))
        }
        Expr::Call(call) => {
            let Expr::Path(path) = &*call.func else { return None };
            let mut last = path.path.segments.iter().rev();
            let is_clone = last.next()?.ident == "clone";
            let of = &last.next()?.ident;
            match call.args.first()? {
                Expr::Reference(arg) if is_clone && (of == "Arc" || of == "Rc") => {
                    Some((&arg.expr, true))
                }
                _ => None,
            }
        }
        _ => None,
    }
}

fn is_place(expr: &Expr) -> bool {
    match expr {
        Expr::Path(_) => true,
        Expr::Field(field) => is_place(&field.base),
        Expr::Paren(inner) => is_place(&inner.expr),
        _ => false,
    }
}

/// Whether every declaration in this file of what the place is named after is an `Arc` or `Rc`.
fn is_shared(source: &RustSource<'_>, place: &Expr) -> bool {
    let Some(name) = last_of(place) else { return false };
    let is_member = matches!(place, Expr::Field(_));
    let mut types = TypesOfName { name: &name, is_member, shared: Vec::new() };
    types.visit_file(&source.tree);
    !types.shared.is_empty() && types.shared.iter().all(|shared| *shared)
}

struct TypesOfName<'n> {
    name: &'n str,
    is_member: bool,
    shared: Vec<bool>,
}

impl TypesOfName<'_> {
    fn add(&mut self, ty: &Type) {
        let shared = match ty {
            Type::Reference(reference) => return self.add(&reference.elem),
            Type::Path(path) => path
                .path
                .segments
                .last()
                .is_some_and(|last| last.ident == "Arc" || last.ident == "Rc"),
            _ => false,
        };
        self.shared.push(shared);
    }
}

impl<'a> Visit<'a> for TypesOfName<'_> {
    fn visit_field(&mut self, field: &'a syn::Field) {
        if self.is_member && field.ident.as_ref().is_some_and(|ident| ident == self.name) {
            self.add(&field.ty);
        }
        visit::visit_field(self, field);
    }

    fn visit_pat_ident(&mut self, pat: &'a syn::PatIdent) {
        // A variable whose type is not written, or of a pattern.
        if !self.is_member && pat.ident == self.name {
            self.shared.push(false);
        }
        visit::visit_pat_ident(self, pat);
    }

    fn visit_pat_type(&mut self, pat: &'a syn::PatType) {
        match &*pat.pat {
            Pat::Ident(name) if name.ident == self.name && !self.is_member => self.add(&pat.ty),
            _ => visit::visit_pat_type(self, pat),
        }
    }
}

/// The variables that clones at a line are bound to, each with its block.
struct Clones<'a> {
    source: &'a RustSource<'a>,
    line: u64,
    found: Vec<(&'a Block, &'a Local)>,
}

impl<'a> Visit<'a> for Clones<'a> {
    fn visit_block(&mut self, block: &'a Block) {
        for stmt in &block.stmts {
            if let Stmt::Local(local) = stmt {
                let range = self.source.range(local);
                let lines = self.source.line(range.start)..=self.source.line(range.end);
                let is_clone = |init: &syn::LocalInit| cloned(&init.expr).is_some();
                if lines.contains(&self.line) && local.init.as_ref().is_some_and(is_clone) {
                    self.found.push((block, local));
                }
            }
        }
        visit::visit_block(self, block);
    }
}

/// The uses of a variable behind its statement.
struct VariableUses<'a> {
    source: &'a RustSource<'a>,
    name: &'a Ident,
    /// A use that may keep it.
    kept: Option<Range<usize>>,
    /// How many closures and asynchronous blocks are around.
    lent: usize,
    /// Where it is dereferenced.
    stars: Vec<usize>,
}

impl VariableUses<'_> {
    fn is_it(&self, expr: &Expr) -> bool {
        self.lent == 0 && matches!(expr, Expr::Path(path) if path.path.is_ident(self.name))
    }

    fn within<'a>(&mut self, expr: &'a Expr)
    where
        Self: Visit<'a>,
    {
        self.lent += 1;
        visit::visit_expr(self, expr);
        self.lent -= 1;
    }
}

impl<'a> Visit<'a> for VariableUses<'a> {
    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Closure(_) | Expr::Async(_) => return self.within(expr),
            Expr::MethodCall(call)
                if self.is_it(&call.receiver) && !call.method.to_string().starts_with("into") =>
            {
                call.args.iter().for_each(|arg| self.visit_expr(arg));
                return;
            }
            Expr::Field(field) if self.is_it(&field.base) => return,
            Expr::Index(index) if self.is_it(&index.expr) => return self.visit_expr(&index.index),
            Expr::Unary(unary)
                if matches!(unary.op, syn::UnOp::Deref(_)) && self.is_it(&unary.expr) =>
            {
                return self.stars.push(self.source.range(expr).start);
            }
            // A reference that is passed to a call; of which those that count owners see one less.
            Expr::Call(call)
                if !last_of(&call.func).is_some_and(|last| last.ends_with("_count")) =>
            {
                let is_shown = self.source.is_macro(expr);
                for arg in &call.args {
                    match arg {
                        Expr::Reference(inner) if self.is_it(&inner.expr) => {}
                        _ if is_shown && self.is_it(arg) && is_printed(&call.func) => {}
                        _ => self.visit_expr(arg),
                    }
                }
                return self.visit_expr(&call.func);
            }
            _ => {}
        }
        visit::visit_expr(self, expr);
    }

    // A member that is named like the variable is another thing.
    fn visit_member(&mut self, _: &'a syn::Member) {}

    fn visit_ident(&mut self, ident: &'a Ident) {
        if ident == self.name {
            self.kept = Some(self.source.bytes(ident.span()));
        }
    }

    fn visit_macro(&mut self, mac: &'a syn::Macro) {
        // What did not read as expressions.
        if self.source.of(mac).contains(&self.name.to_string()) {
            self.kept = Some(self.source.range(mac));
        }
    }
}

/// Macros that take references to their arguments.
fn is_printed(func: &Expr) -> bool {
    let printing =
        ["print", "println", "eprint", "eprintln", "format", "write", "writeln", "panic"];
    last_of(func).is_some_and(|last| printing.contains(&last.as_str()))
}
