//! Functions where there is no DWARF: by a program's symbols, with what BTF declares of their arguments and results.
//!
//! A symbol and a prototype belong together by their name, if it is the name of one function alone. A compiler's variant of a
//! function (`step.isra.0`) has another name, for it may take other arguments. If a compiler drops an argument and keeps the name,
//! it is for the maker of the BTF to leave the function out, as pahole does.

use gimli::Range;
use object::{File, Object as _, ObjectSymbol as _, SymbolKind};
use rustc_hash::FxHashMap;

use super::fields::Fields;
use super::unit::{CodeFunction, UnitCode};
use tenure_debuginfo::model::{Scalar, TypeId, TypeKind};
use tenure_debuginfo::names;
use tenure_debuginfo::program::located::Register;
use tenure_debuginfo::read::Prototype;

/// All names have together at most so many times the file's bytes, which they may share.
const MAX_SHARING: usize = 4;

/// Where the System V calling convention of x86-64 passes integers and pointers, by DWARF's numbers.
const ARGUMENTS: [Register; 6] = [5, 4, 1, 2, 8, 9];

/// Bytes of such a register.
const WORD: u64 = 8;

/// Behind the name of a function: the part that rarely runs, to which the function jumps.
const COLD: &str = ".cold";

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct DeclaredSymbol<'a> {
    name: &'a str,
    address: u64,
    size: u64,
}

/// The functions that have symbols; `None` if BTF declares none of them.
pub(super) fn read(
    (object, length): (&File<'_>, usize),
    prototypes: &[Prototype],
    fields: &Fields<'_>,
) -> Option<UnitCode> {
    let symbols = symbols(object, length);
    let declared = by_name(prototypes);
    let mut found: Vec<(DeclaredSymbol<'_>, Option<&Prototype>)> =
        Vec::with_capacity(symbols.len());
    let mut colds = FxHashMap::default();
    for same in symbols.chunk_by(|one, next| one.name == next.name) {
        if let [one] = *same {
            match one.name.strip_suffix(COLD) {
                Some(name) => _ = colds.insert(name, one),
                None => found.push((one, declared.get(one.name).copied().flatten())),
            }
        } else {
            found.extend(same.iter().map(|one| (*one, None)));
        }
    }
    found.sort_by_key(|(one, _)| one.address);
    let mut is_declared = false;
    let mut code = UnitCode { has_variables: true, ..UnitCode::default() };
    for aliases in found.chunk_by(|(one, _), (next, _)| one.address == next.address) {
        let mut known = aliases.iter().filter_map(|(_, prototype)| *prototype);
        let prototype = known.next().filter(|first| known.all(|next| is_alike(first, next)));
        let (one, _) = aliases.iter().find(|(_, known)| known.is_some()).unwrap_or(&aliases[0]);
        let cold = aliases.iter().find_map(|(one, _)| colds.remove(one.name));
        let ranges = [Some(*one), cold].into_iter().flatten().map(range).collect();
        let arguments = prototype.map_or_else(Vec::new, |it| arguments(it, fields));
        let result = prototype.and_then(|it| fields.pointee(it.returns, 0));
        code.results.extend(result.map(|to| (one.address, to)));
        is_declared |= prototype.is_some();
        let name = names::function(one.name);
        code.functions.push(CodeFunction { name, ranges, claims: Vec::new(), arguments });
    }
    // Those of functions that are not known by name.
    code.functions.extend(colds.into_values().map(|cold| CodeFunction {
        name: names::function(cold.name),
        ranges: vec![range(cold)],
        claims: Vec::new(),
        arguments: Vec::new(),
    }));
    is_declared.then_some(code)
}

/// The functions' symbols, in the order of their names.
fn symbols<'a>(object: &File<'a>, length: usize) -> Vec<DeclaredSymbol<'a>> {
    let mut left = length.saturating_mul(MAX_SHARING);
    let mut symbols = Vec::new();
    for symbol in object.symbols().chain(object.dynamic_symbols()) {
        let is_function = symbol.kind() == SymbolKind::Text && symbol.is_definition();
        let (address, size) = (symbol.address(), symbol.size());
        if !is_function || address == 0 || size == 0 {
            continue;
        }
        let Ok(name) = symbol.name() else { continue };
        let Some(rest) = left.checked_sub(name.len()) else { break };
        left = rest;
        symbols.push(DeclaredSymbol { name, address, size });
    }
    symbols.sort_unstable();
    symbols.dedup();
    symbols
}

/// `None` for a name of several functions that are declared in different ways.
fn by_name(prototypes: &[Prototype]) -> FxHashMap<&str, Option<&Prototype>> {
    let mut named: FxHashMap<&str, Option<&Prototype>> = FxHashMap::default();
    for one in prototypes {
        let known = named.entry(&one.name).or_insert(Some(one));
        *known = known.filter(|known| is_alike(known, one));
    }
    named
}

fn is_alike(one: &Prototype, other: &Prototype) -> bool {
    (one.returns, &one.parameters) == (other.returns, &other.parameters)
}

fn range(symbol: DeclaredSymbol<'_>) -> Range {
    Range { begin: symbol.address, end: symbol.address.saturating_add(symbol.size) }
}

/// What registers point to where a function begins. Behind a struct that is passed by value nothing is known.
fn arguments(prototype: &Prototype, fields: &Fields<'_>) -> Vec<(Register, TypeId)> {
    let kind = |ty| &fields.model[fields.model.resolved(ty)].kind;
    let mut registers = ARGUMENTS.into_iter();
    let mut arguments = Vec::new();
    // The first register has the address of a large struct that is returned.
    if matches!(kind(prototype.returns), TypeKind::Composite { .. }) {
        return arguments;
    }
    for &ty in &prototype.parameters {
        match kind(ty) {
            TypeKind::Scalar(Scalar::Float) => continue,
            TypeKind::Scalar(_) | TypeKind::Pointer(_) if fields.model[ty].size <= WORD => {}
            _ => break,
        }
        let Some(register) = registers.next() else { break };
        arguments.extend(fields.pointee(ty, 0).map(|to| (register, to)));
    }
    arguments
}
