//! What `#[line(...)]` says, on a struct and on its fields.

use proc_macro2::Span;
use syn::ext::IdentExt;
use syn::meta::ParseNestedMeta;
use syn::spanned::Spanned;
use syn::{Attribute, DataStruct, Error, Expr, Index, LitInt, LitStr, Member, Path, Result, Type};

#[derive(Default)]
pub(crate) struct OfStruct {
    pub(crate) assume_aligned: bool,
    pub(crate) apart: Option<Expr>,
    pub(crate) groups: Vec<Group>,
    pub(crate) tenure: Option<Path>,
}

/// How many lines a group may take.
pub(crate) struct Group {
    pub(crate) name: LitStr,
    pub(crate) lines: usize,
}

pub(crate) struct Field<'a> {
    pub(crate) member: Member,
    pub(crate) ty: &'a Type,
    pub(crate) role: Option<Role>,
    pub(crate) group: Option<LitStr>,
}

#[derive(Clone, Copy)]
pub(crate) enum Role {
    Contended,
    ReadMostly,
    Cold,
    Embed,
}

const OF_STRUCT: &str =
    "`assume_aligned`, `apart = BYTES`, `group(name = \"...\", lines = N)`, `crate = PATH`";
const OF_FIELD: &str = "`contended`, `read_mostly`, `cold`, `embed`, `group = \"...\"`";

impl Role {
    const ALL: [(&'static str, Self); 4] = [
        ("contended", Self::Contended),
        ("read_mostly", Self::ReadMostly),
        ("cold", Self::Cold),
        ("embed", Self::Embed),
    ];

    fn of(path: &Path) -> Option<Self> {
        let (_, role) = Self::ALL.into_iter().find(|(name, _)| path.is_ident(name))?;
        Some(role)
    }
}

impl OfStruct {
    pub(crate) fn parse(attributes: &[Attribute]) -> Result<Self> {
        let mut parsed = Self::default();
        for attribute in line_attributes(attributes) {
            attribute.parse_nested_meta(|meta| parsed.parse_one(&meta))?;
        }
        Ok(parsed)
    }

    fn parse_one(&mut self, meta: &ParseNestedMeta<'_>) -> Result<()> {
        if meta.path.is_ident("assume_aligned") {
            only_once(meta, self.assume_aligned)?;
            self.assume_aligned = true;
        } else if meta.path.is_ident("apart") {
            only_once(meta, self.apart.is_some())?;
            self.apart = Some(meta.value()?.parse()?);
        } else if meta.path.is_ident("crate") {
            only_once(meta, self.tenure.is_some())?;
            self.tenure = Some(meta.value()?.call(Path::parse_mod_style)?);
        } else if meta.path.is_ident("group") {
            let group = Group::parse(meta)?;
            if self.groups.iter().any(|other| other.name.value() == group.name.value()) {
                return Err(Error::new_spanned(group.name, "this group is declared already"));
            }
            self.groups.push(group);
        } else if Role::of(&meta.path).is_some() {
            return Err(meta.error("this goes on a field, not on the struct"));
        } else {
            return Err(meta.error(format!("not known: on a struct, `line` takes {OF_STRUCT}")));
        }
        Ok(())
    }
}

impl Group {
    fn parse(meta: &ParseNestedMeta<'_>) -> Result<Self> {
        const FORM: &str = "a struct declares a group as `group(name = \"...\", lines = N)`";
        if !meta.input.peek(syn::token::Paren) {
            return Err(meta.error(FORM));
        }
        let (mut name, mut lines) = (None, None);
        meta.parse_nested_meta(|meta| {
            if meta.path.is_ident("name") {
                only_once(&meta, name.is_some())?;
                name = Some(group_name(&meta)?);
            } else if meta.path.is_ident("lines") {
                only_once(&meta, lines.is_some())?;
                let literal: LitInt = meta.value()?.parse()?;
                let number = literal.base10_parse()?;
                if number == 0 {
                    return Err(Error::new_spanned(literal, "a group takes one line at least"));
                }
                lines = Some(number);
            } else {
                return Err(meta.error(FORM));
            }
            Ok(())
        })?;
        match (name, lines) {
            (Some(name), Some(lines)) => Ok(Self { name, lines }),
            (None, _) => Err(meta.error(format!("`name` is missing: {FORM}"))),
            (_, None) => Err(meta.error(format!("`lines` is missing: {FORM}"))),
        }
    }
}

impl<'a> Field<'a> {
    pub(crate) fn parse_all(data: &'a DataStruct) -> Result<Vec<Self>> {
        let mut fields = Vec::new();
        let mut errors: Option<Error> = None;
        for (index, field) in data.fields.iter().enumerate() {
            let member = match &field.ident {
                Some(name) => Member::Named(name.clone()),
                None => Member::Unnamed(Index::from(index)),
            };
            match Self::parse(member, field) {
                Ok(field) => fields.push(field),
                Err(error) => match &mut errors {
                    Some(errors) => errors.combine(error),
                    None => errors = Some(error),
                },
            }
        }
        errors.map_or(Ok(fields), Err)
    }

    fn parse(member: Member, field: &'a syn::Field) -> Result<Self> {
        if is_unsized(&field.ty) {
            return Err(Error::new_spanned(
                &field.ty,
                "a field without a fixed size lies on no certain line: `LineLayout` is for sized structs",
            ));
        }
        let mut parsed = Self { member, ty: &field.ty, role: None, group: None };
        for attribute in line_attributes(&field.attrs) {
            attribute.parse_nested_meta(|meta| parsed.parse_one(&meta))?;
        }
        Ok(parsed)
    }

    fn parse_one(&mut self, meta: &ParseNestedMeta<'_>) -> Result<()> {
        if let Some(role) = Role::of(&meta.path) {
            if self.role.is_some() {
                return Err(meta.error(
                    "a second role: a field is one of `contended`, `read_mostly`, `cold`, `embed`",
                ));
            }
            self.role = Some(role);
        } else if meta.path.is_ident("group") {
            only_once(meta, self.group.is_some())?;
            if meta.input.peek(syn::token::Paren) {
                return Err(meta.error("a field names its group as `group = \"...\"`"));
            }
            self.group = Some(group_name(meta)?);
        } else if ["assume_aligned", "apart", "crate"].iter().any(|word| meta.path.is_ident(word)) {
            return Err(meta.error("this goes on the struct, not on a field"));
        } else {
            return Err(meta.error(format!("not known: on a field, `line` takes {OF_FIELD}")));
        }
        Ok(())
    }

    /// Name of the field in messages.
    pub(crate) fn name(&self) -> String {
        match &self.member {
            Member::Named(name) => name.unraw().to_string(),
            Member::Unnamed(index) => index.index.to_string(),
        }
    }

    /// Where the compiler points if the type does not do.
    pub(crate) fn type_span(&self) -> Span {
        self.ty.span()
    }
}

fn line_attributes(attributes: &[Attribute]) -> impl Iterator<Item = &Attribute> {
    attributes.iter().filter(|attribute| attribute.path().is_ident("line"))
}

fn only_once(meta: &ParseNestedMeta<'_>, given_already: bool) -> Result<()> {
    if given_already { Err(meta.error("given twice")) } else { Ok(()) }
}

fn group_name(meta: &ParseNestedMeta<'_>) -> Result<LitStr> {
    let name: LitStr = meta.value()?.parse()?;
    if name.value().is_empty() {
        return Err(Error::new_spanned(name, "a group has a name"));
    }
    Ok(name)
}

fn is_unsized(ty: &Type) -> bool {
    match ty {
        Type::Slice(_) | Type::TraitObject(_) => true,
        Type::Path(path) => path.qself.is_none() && path.path.is_ident("str"),
        Type::Group(group) => is_unsized(&group.elem),
        Type::Paren(paren) => is_unsized(&paren.elem),
        _ => false,
    }
}
