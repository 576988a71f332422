//! What a unit says of its code: functions, where their variables are while they run, and what they call.

use gimli::{AttributeValue, DwTag, Range};
use rustc_hash::FxHashMap;

use super::fields::Fields;
use tenure_debuginfo::model::{TypeId, TypeKind};
use tenure_debuginfo::names;
use tenure_debuginfo::program::entries::{Entries, EntryValue, Unit};
use tenure_debuginfo::program::place::{Base, Register, VariablePlace, frame_base, places};
use tenure_debuginfo::program::units::Reader;
use tenure_debuginfo::read::EntryTypes;

/// Places of one function's variables.
const MAX_CLAIMS: usize = 1 << 16;

/// Places of all variables of a unit that are read.
const MAX_PLACES: usize = 1 << 22;

/// How often an entry may refer to another for what it lacks.
const MAX_ORIGINS: usize = 16;

/// Ranges of all blocks of a unit: several blocks may share a list.
const MAX_RANGES: usize = 1 << 20;

/// What a register or some bytes of the frame are, for some addresses of code.
#[derive(Debug, Clone, Copy)]
pub(super) struct RegisterClaim {
    pub(super) range: Range,
    pub(super) what: VariableKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum VariableKind {
    /// The register has the address of such an object, and so many bytes more.
    Points { register: Register, to: TypeId, at: i64 },
    /// From `at` on lie the bytes of a value, from its `inside`th on.
    Holds { base: Base, at: i64, ty: TypeId, inside: u64 },
    /// At `at` lies the address of such an object.
    Leads { base: Base, at: i64, to: TypeId },
}

/// A function that has code.
#[derive(Debug)]
pub(super) struct CodeFunction {
    pub(super) name: String,
    pub(super) ranges: Vec<Range>,
    /// Its claims, in the order of where they begin.
    pub(super) claims: Vec<RegisterClaim>,
    /// What registers point to at its first instruction, where no claim says so.
    pub(super) arguments: Vec<(Register, TypeId)>,
}

/// What is called at some return address.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Callee {
    pub(super) is_named: bool,
    pub(super) takes_lock: bool,
    /// What it returns points to such an object.
    pub(super) returns: Option<TypeId>,
}

#[derive(Debug, Default)]
pub(super) struct UnitCode {
    pub(super) functions: Vec<CodeFunction>,
    /// Whom it calls, by return address.
    pub(super) calls: FxHashMap<u64, Callee>,
    /// What functions of the unit return points to such an object, by where they begin.
    pub(super) results: FxHashMap<u64, TypeId>,
    pub(super) language: Option<u64>,
    /// Whether it says where variables are; units that were compiled with line tables alone do not.
    pub(super) has_variables: bool,
}

/// An entry of this file or, with `supplementary`, of the one that `dwz` made.
#[derive(Debug, Clone, Copy)]
struct Reference {
    at: usize,
    supplementary: bool,
}

/// What others may take from an entry.
#[derive(Debug, Clone, Copy)]
struct Meta<'a> {
    at: usize,
    name: Option<EntryValue<'a>>,
    linkage: Option<EntryValue<'a>>,
    ty: Option<Reference>,
    origin: Option<Reference>,
}

struct CodeVariable<'a> {
    function: usize,
    /// Its place in the list of entries.
    meta: usize,
    location: EntryValue<'a>,
    /// The block around it.
    block: usize,
}

struct OpenScope {
    meta: usize,
    ranges: Vec<Range>,
    frame: Option<(Base, i64)>,
}

/// A parent of entries.
#[derive(Clone, Copy)]
struct ScopeFrame {
    depth: isize,
    function: Option<usize>,
    block: usize,
}

struct UnitScan<'s, 'a> {
    reader: &'s Reader<'a>,
    unit: &'s Unit<'a>,
    start: usize,
    metas: Vec<Meta<'a>>,
    functions: Vec<OpenScope>,
    variables: Vec<CodeVariable<'a>>,
    /// Ranges of blocks.
    blocks: Vec<Vec<Range>>,
    calls: Vec<(u64, Reference)>,
    language: Option<u64>,
}

/// Reads a unit. What follows an entry that cannot be read is lost: then the second is true.
pub(super) fn read<'a>(
    reader: &Reader<'a>,
    unit: &Unit<'a>,
    entries: &EntryTypes,
    fields: &Fields<'_>,
) -> (UnitCode, bool) {
    let mut scan = UnitScan {
        reader,
        unit,
        start: unit.header.offset().0,
        metas: Vec::new(),
        functions: Vec::new(),
        variables: Vec::new(),
        blocks: vec![Vec::new()],
        calls: Vec::new(),
        language: None,
    };
    let is_cut = scan.run().is_none();
    (scan.finish(entries, fields), is_cut)
}

impl<'a> UnitScan<'_, 'a> {
    /// `None` if an entry cannot be read.
    fn run(&mut self) -> Option<()> {
        let unit = self.unit;
        let mut entries = Entries::from(unit, None)?;
        let mut frames = vec![ScopeFrame { depth: isize::MIN, function: None, block: 0 }];
        let mut ranges_left = MAX_RANGES;
        while entries.advance_to(|depth, tag| {
            frames.truncate(frames.partition_point(|frame| frame.depth < depth));
            frames.last().is_some_and(|frame| is_of_interest(tag, *frame))
        })? {
            let frame = *frames.last()?;
            let depth = entries.depth;
            let mut ranges = || {
                let all = entries.ranges(&self.reader.dwarf, unit).take(ranges_left);
                let mut all: Vec<Range> = all.collect();
                ranges_left -= all.len();
                // Those of code that the linker dropped begin at 0.
                all.retain(|range| range.begin != 0 && range.begin < range.end);
                all
            };
            match entries.tag {
                gimli::DW_TAG_compile_unit | gimli::DW_TAG_partial_unit => {
                    self.language = match entries.get(gimli::DW_AT_language) {
                        Some(AttributeValue::Language(language)) => Some(language.0.into()),
                        _ => None,
                    };
                }
                gimli::DW_TAG_subprogram => {
                    let ranges = ranges();
                    let meta = self.meta(&entries);
                    let mut function = None;
                    if !ranges.is_empty() {
                        let base = entries.get(gimli::DW_AT_frame_base);
                        let frame = base.and_then(|base| frame_base(unit, base.exprloc_value()?));
                        function = Some(self.functions.len());
                        self.functions.push(OpenScope { meta, ranges: ranges.clone(), frame });
                        self.blocks.push(ranges);
                    }
                    frames.push(ScopeFrame { depth, function, block: self.blocks.len() - 1 });
                }
                gimli::DW_TAG_inlined_subroutine | gimli::DW_TAG_lexical_block => {
                    self.blocks.push(ranges());
                    frames.push(ScopeFrame { depth, block: self.blocks.len() - 1, ..frame });
                }
                gimli::DW_TAG_formal_parameter | gimli::DW_TAG_variable => {
                    let meta = self.meta(&entries);
                    if let (Some(function), Some(location)) =
                        (frame.function, entries.get(gimli::DW_AT_location))
                    {
                        let block = frame.block;
                        self.variables.push(CodeVariable { function, meta, location, block });
                    }
                }
                gimli::DW_TAG_call_site | gimli::DW_TAG_GNU_call_site => self.call(&entries),
                _ => {}
            }
        }
        Some(())
    }

    fn meta(&mut self, entry: &Entries<'_, 'a>) -> usize {
        let reference = |name| self.reference(entry.get(name)?);
        let meta = Meta {
            at: self.start + entry.offset,
            name: entry.get(gimli::DW_AT_name),
            linkage: entry
                .get(gimli::DW_AT_linkage_name)
                .or_else(|| entry.get(gimli::DW_AT_MIPS_linkage_name)),
            ty: reference(gimli::DW_AT_type),
            origin: reference(gimli::DW_AT_abstract_origin)
                .or_else(|| reference(gimli::DW_AT_specification)),
        };
        self.metas.push(meta);
        self.metas.len() - 1
    }

    fn call(&mut self, entry: &Entries<'_, 'a>) {
        let address = |name| entry.address(&self.reader.dwarf, self.unit, name);
        let returns = address(gimli::DW_AT_call_return_pc).or_else(|| address(gimli::DW_AT_low_pc));
        let origin =
            entry.get(gimli::DW_AT_call_origin).or_else(|| entry.get(gimli::DW_AT_abstract_origin));
        if let (Some(returns), Some(origin)) = (returns, origin.and_then(|it| self.reference(it))) {
            self.calls.push((returns, origin));
        }
    }

    fn reference(&self, value: EntryValue<'a>) -> Option<Reference> {
        match value {
            AttributeValue::DebugInfoRefSup(at) => {
                Some(Reference { at: at.0, supplementary: true })
            }
            value => {
                let at = Reader::target(self.unit, value)?;
                Some(Reference { at, supplementary: false })
            }
        }
    }

    /// What an entry says, or one that it takes after.
    fn ask<T>(
        &self,
        mut meta: Meta<'a>,
        ask: impl Fn(&Meta<'a>) -> Option<T>,
    ) -> Result<T, Option<Reference>> {
        for _ in 0..MAX_ORIGINS {
            if let Some(answer) = ask(&meta) {
                return Ok(answer);
            }
            let Some(origin) = meta.origin else { return Err(None) };
            match self.own(origin) {
                Some(next) => meta = next,
                None => return Err(Some(origin)),
            }
        }
        Err(None)
    }

    fn own(&self, reference: Reference) -> Option<Meta<'a>> {
        if reference.supplementary {
            return None;
        }
        let place = self.metas.binary_search_by_key(&reference.at, |meta| meta.at).ok()?;
        Some(self.metas[place])
    }

    fn type_of(&self, meta: Meta<'a>, entries: &EntryTypes) -> Option<TypeId> {
        let ty = match self.ask(meta, |meta| meta.ty) {
            Ok(ty) => ty,
            Err(origin) => {
                let origin = origin.filter(|origin| !origin.supplementary)?;
                // Of another unit, as after link-time optimisation.
                let at = self.reader.ask(origin.at, |unit, entry| {
                    Reader::target(unit, entry.get(gimli::DW_AT_type)?)
                })?;
                Reference { at, supplementary: false }
            }
        };
        match ty.supplementary {
            true => entries.at_supplementary(ty.at),
            false => entries.at(ty.at),
        }
    }

    fn name_of(&self, meta: Meta<'a>) -> Option<String> {
        let value = self
            .ask(meta, |meta| meta.linkage)
            .or_else(|origin| self.ask(meta, |meta| meta.name).map_err(|_| origin));
        match value {
            Ok(value) => self.reader.text(self.unit, value),
            Err(origin) => self.reader.name(origin.filter(|it| !it.supplementary)?.at),
        }
    }

    fn finish(self, entries: &EntryTypes, fields: &Fields<'_>) -> UnitCode {
        let mut claims: Vec<Vec<RegisterClaim>> =
            self.functions.iter().map(|_| Vec::new()).collect();
        let mut left = MAX_PLACES;
        for variable in &self.variables {
            let claims = &mut claims[variable.function];
            let Some(ty) = self.type_of(self.metas[variable.meta], entries) else { continue };
            if claims.len() < MAX_CLAIMS && may_lead(fields, ty) {
                self.claim(variable, ty, fields, claims, &mut left);
            }
        }
        let functions = self.functions.iter().zip(claims).map(|(open, mut claims)| {
            claims.sort_by_key(|claim| claim.range.begin);
            let name = self.name_of(self.metas[open.meta]).unwrap_or_default();
            let (ranges, arguments) = (open.ranges.clone(), Vec::new());
            CodeFunction { name: names::function(&name), ranges, claims, arguments }
        });
        let functions = functions.collect();
        let result = |open: &OpenScope| {
            let ty = self.type_of(self.metas[open.meta], entries)?;
            Some((open.ranges.first()?.begin, fields.pointee(ty, 0)?))
        };
        let results = self.functions.iter().filter_map(result).collect();
        let mut known: FxHashMap<(usize, bool), Callee> = FxHashMap::default();
        let mut calls = FxHashMap::default();
        for (returns, origin) in &self.calls {
            let callee = known.entry((origin.at, origin.supplementary)).or_insert_with(|| {
                let Some(meta) = self.own(*origin) else { return Callee::default() };
                let ty = self.type_of(meta, entries);
                let returns = ty.and_then(|ty| fields.pointee(ty, 0));
                let name = self.name_of(meta);
                let takes_lock = name.as_deref().is_some_and(names::takes_lock);
                Callee { is_named: name.is_some(), takes_lock, returns }
            });
            if callee.is_named || callee.returns.is_some() {
                calls.insert(*returns, *callee);
            }
        }
        let has_variables = !self.variables.is_empty();
        UnitCode { functions, calls, results, language: self.language, has_variables }
    }

    fn claim(
        &self,
        variable: &CodeVariable<'a>,
        ty: TypeId,
        fields: &Fields<'_>,
        claims: &mut Vec<RegisterClaim>,
        left: &mut usize,
    ) {
        let frame = self.functions[variable.function].frame;
        let mut note = |range: Range, expression| {
            if *left == 0 || claims.len() >= MAX_CLAIMS {
                return false;
            }
            *left -= 1;
            // Nothing is said where it is not understood.
            let _ = places(self.unit, expression, frame, |inside, place| {
                let what = match place {
                    VariablePlace::Value(register, more) => i64::try_from(inside)
                        .ok()
                        .and_then(|inside| fields.pointee(ty, inside))
                        .and_then(|to| {
                            Some(VariableKind::Points { register, to, at: more.checked_neg()? })
                        }),
                    VariablePlace::Memory(base, at) => {
                        Some(VariableKind::Holds { base, at, ty, inside })
                    }
                    VariablePlace::Through(base, at) if inside == 0 => {
                        Some(VariableKind::Leads { base, at, to: fields.model.resolved(ty) })
                    }
                    VariablePlace::Through(..) => None,
                };
                claims.extend(what.map(|what| RegisterClaim { range, what }));
            });
            true
        };
        if let AttributeValue::Exprloc(expression) = variable.location {
            let _ = self.blocks[variable.block].iter().all(|range| note(*range, expression));
            return;
        }
        let lists = &self.reader.dwarf;
        let Ok(Some(mut list)) = lists.attr_locations(self.unit, variable.location) else { return };
        while let Ok(Some(entry)) = list.next()
            && note(entry.range, entry.data)
        {}
    }
}

/// Whether a value may hold a pointer to something.
fn may_lead(fields: &Fields<'_>, ty: TypeId) -> bool {
    let model = fields.model;
    match model[model.resolved(ty)].kind {
        TypeKind::Pointer(to) => to.is_some(),
        TypeKind::Composite { .. } => true,
        _ => false,
    }
}

fn is_of_interest(tag: DwTag, frame: ScopeFrame) -> bool {
    match tag {
        gimli::DW_TAG_compile_unit
        | gimli::DW_TAG_partial_unit
        | gimli::DW_TAG_subprogram
        | gimli::DW_TAG_formal_parameter
        | gimli::DW_TAG_variable => true,
        gimli::DW_TAG_inlined_subroutine
        | gimli::DW_TAG_lexical_block
        | gimli::DW_TAG_call_site
        | gimli::DW_TAG_GNU_call_site => frame.function.is_some(),
        _ => false,
    }
}
