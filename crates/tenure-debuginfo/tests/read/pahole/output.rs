use std::path::Path;
use std::process::Command;

use tenure_debuginfo::model::Format;

/// With the members of unnamed ones inside.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Struct {
    pub(crate) name: String,
    pub(crate) size: u64,
    pub(crate) fields: Vec<Field>,
    /// Bits without a member before a later one: the first, and how many.
    pub(crate) gaps: Vec<(u64, u64)>,
}

/// In bits from the start of the struct.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Field {
    pub(crate) start: u64,
    pub(crate) bits: u64,
    pub(crate) name: String,
    pub(crate) is_bits: bool,
}

/// Members in the order of their places: pahole shows them as declared, and we by offset.
pub(crate) fn is_same(ours: &Struct, theirs: &Struct) -> bool {
    let sorted = |one: &Struct| {
        let mut fields = one.fields.clone();
        fields.sort();
        fields
    };
    ours.size == theirs.size && sorted(ours) == sorted(theirs) && ours.holes() == theirs.holes()
}

pub(crate) fn of(path: &Path, format: Format) -> Vec<Struct> {
    let format = match format {
        Format::Dwarf => "dwarf",
        Format::Btf => "btf",
    };
    let output =
        Command::new("pahole").args(["-F", format]).arg(path).output().expect("pahole runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    parse(&String::from_utf8_lossy(&output.stdout))
}

fn parse(text: &str) -> Vec<Struct> {
    let mut structs: Vec<Struct> = Vec::new();
    // How many unnamed types the line is in, how many fields there were where each began, and at which of these depths
    // an enumeration began.
    let mut depth = 0;
    let mut begun = Vec::new();
    let mut enumeration = None;
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("struct ").and_then(|rest| rest.strip_suffix(" {")) {
            let name = name.to_owned();
            structs.push(Struct { name, size: 0, fields: Vec::new(), gaps: Vec::new() });
            depth = 1;
            begun.clear();
            continue;
        }
        let Some(current) = structs.last_mut() else { continue };
        if line.starts_with('}') {
            depth = 0;
        }
        if depth == 0 {
            continue;
        }
        let line = line.trim();
        if line.ends_with('{') {
            depth += 1;
            begun.push(current.fields.len());
            if line.starts_with("enum") {
                enumeration = Some(depth);
            }
            continue;
        }
        if let Some(comment) = line.strip_prefix("/* ") {
            remark(current, comment, depth);
            continue;
        }
        if let Some(rest) = line.strip_prefix('}') {
            depth -= 1;
            // pahole shows a pointer's target too, which is no part of the struct.
            let inside = begun.pop().unwrap_or(0);
            if rest.trim_start().starts_with('*') {
                current.fields.truncate(inside);
            }
            enumeration = enumeration.filter(|began| *began <= depth);
            current.fields.extend(field(rest));
        } else if enumeration.is_none() {
            current.fields.extend(field(line));
        }
    }
    structs
}

fn remark(current: &mut Struct, comment: &str, depth: u32) {
    if depth != 1 {
        return;
    }
    if let Some(rest) = comment.strip_prefix("size: ") {
        current.size = rest.split(',').next().and_then(|size| size.parse().ok()).unwrap_or(0);
    } else if let Some(rest) = comment.strip_prefix("XXX ")
        && rest.contains("hole")
    {
        let many: u64 = rest.split(' ').next().and_then(|many| many.parse().ok()).unwrap_or(0);
        let bits = if rest.contains(" byte") { many * 8 } else { many };
        // Behind what was listed up to here. The bits that are left of a bit field's type and the bytes after it are
        // two remarks.
        let end = current.fields.iter().map(|field| field.start + field.bits).max().unwrap_or(0);
        match current.gaps.last_mut() {
            Some((last, so_far)) if *last == end => *so_far += bits,
            _ => current.gaps.push((end, bits)),
        }
    }
}

impl Struct {
    /// Whole bytes, by offset.
    pub(crate) fn holes(&self) -> Vec<(u64, u64)> {
        let bytes = |(end, bits): &(u64, u64)| {
            let first = end.div_ceil(8);
            (first, (end + bits) / 8 - first.min((end + bits) / 8))
        };
        self.gaps.iter().map(bytes).filter(|(_, bytes)| *bytes > 0).collect()
    }
}

/// `type name; /* offset size */`, and of bits `/* offset: bit size */`.
fn field(line: &str) -> Option<Field> {
    let (declaration, comment) = line.rsplit_once("/*")?;
    let comment = comment.trim().strip_suffix("*/")?;
    let numbers: Vec<&str> = comment.split([' ', ':']).filter(|word| !word.is_empty()).collect();
    let declaration = declaration.trim().strip_suffix(';')?;
    let declaration = declaration.split(" __attribute__((").next()?.trim();
    let number = |text: &str| text.parse::<u64>().ok();
    match *numbers.as_slice() {
        [offset, size] => Some(Field {
            name: name(declaration).to_owned(),
            start: number(offset)? * 8,
            bits: number(size)? * 8,
            is_bits: false,
        }),
        [offset, bit, _] => {
            let (declaration, count) = declaration.rsplit_once(':')?;
            Some(Field {
                name: name(declaration).to_owned(),
                start: number(offset)? * 8 + number(bit)?,
                bits: number(count.trim())?,
                is_bits: true,
            })
        }
        _ => None,
    }
}

fn name(declaration: &str) -> &str {
    let declaration = match declaration.split_once("(*") {
        // A pointer to a function or an array: the innermost parentheses hold its name.
        Some(_) => {
            let start = declaration.rfind("(*").map_or(0, |_| declaration.find("(*").unwrap_or(0));
            let inside = &declaration[start + 2..];
            let inside = inside.trim_start_matches(['(', '*', ' ']);
            &inside[..inside.find(')').unwrap_or(inside.len())]
        }
        None => declaration,
    };
    let declaration = declaration.split('[').next().unwrap_or_default().trim_end();
    let start = declaration
        .rfind(|c: char| !(c.is_alphanumeric() || c == '_'))
        .map_or(0, |place| place + 1);
    &declaration[start..]
}
