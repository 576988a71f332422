//! Members by their paths: `__refcnt`, `dst.__refcnt`, `shards.lock`.

use std::fmt;

use super::glob::{Glob, Specificity};
use tenure_debuginfo::model::{BitField, MAX_NESTING, Model, TypeId, TypeKind};

/// Members that one path may lead to: more are an array without end.
const MAX_PLACES: usize = 1 << 16;

/// Members that one path may pass: a second of work.
const MAX_STEPS: usize = 1 << 20;

/// A way from a type to its members, through embedded types and every element of arrays. Anonymous structs and unions and
/// base classes are not spelled.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct MemberPath(Box<[Glob]>);

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct MemberPattern {
    pub(crate) ty: Glob,
    pub(crate) path: MemberPath,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct MemberPlace {
    /// The path with the elements of arrays: `shards[3].lock`.
    pub(crate) path: String,
    pub(crate) owner: TypeId,
    pub(crate) index: usize,
    /// Bytes from the start of the path's type.
    pub(crate) offset: u64,
    pub(crate) size: u64,
    pub(crate) bits: Option<BitField>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TooMany;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ElementScope {
    First,
    All,
}

impl MemberPath {
    /// Reads `a.b.c`; the error is in words.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let steps: Vec<_> = text.split('.').collect();
        if steps.iter().any(|step| step.trim() != *step || step.is_empty()) {
            return Err(format!("`{text}` is not the name of a member"));
        }
        if steps.len() > MAX_NESTING {
            return Err(format!("a path of {} steps", steps.len()));
        }
        Ok(Self(steps.into_iter().map(Glob::new).collect()))
    }

    pub(crate) fn single(&self) -> Option<&Glob> {
        match &*self.0 {
            [name] => Some(name),
            _ => None,
        }
    }

    pub(crate) fn is_plain(&self) -> bool {
        self.0.iter().all(Glob::is_plain)
    }

    pub(crate) fn specificity(&self) -> Specificity {
        let steps = self.0.iter().map(Glob::specificity);
        steps.reduce(Specificity::and).expect("a path has a step")
    }

    pub(crate) fn resolve(
        &self,
        model: &Model,
        composite: TypeId,
        elements: ElementScope,
    ) -> Result<Vec<MemberPlace>, TooMany> {
        let mut walk = PathWalk { model, elements, steps: 0, found: Vec::new() };
        walk.members(model.resolved(composite), 0, "", &self.0)?;
        Ok(walk.found)
    }
}

impl fmt::Display for MemberPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let steps: Vec<_> = self.0.iter().map(Glob::as_str).collect();
        f.write_str(&steps.join("."))
    }
}

impl MemberPattern {
    /// Reads `TYPE.MEMBER`, where the type may have dots in its brackets only.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut depth = 0_usize;
        let mut split = None;
        let mut before = ' ';
        for (at, c) in text.char_indices() {
            match c {
                '<' | '(' | '[' | '{' => depth += 1,
                '>' if before == '-' => {}
                '>' | ')' | ']' | '}' => depth = depth.saturating_sub(1),
                '.' if depth == 0 => {
                    split = Some(at);
                    break;
                }
                _ => {}
            }
            before = c;
        }
        let Some(at) = split else {
            return Err(match depth {
                0 => format!("`{text}` does not say TYPE.MEMBER"),
                _ => format!("a bracket of `{text}` is not closed"),
            });
        };
        let (ty, path) = (&text[..at], &text[at + 1..]);
        if ty.is_empty() {
            return Err(format!("`{text}` does not name a type: `*{text}` is any"));
        }
        Ok(Self { ty: Glob::new(ty), path: MemberPath::parse(path)? })
    }

    pub(crate) fn specificity(&self) -> Specificity {
        self.ty.specificity().and(self.path.specificity())
    }
}

struct PathWalk<'a> {
    model: &'a Model,
    elements: ElementScope,
    steps: usize,
    found: Vec<MemberPlace>,
}

impl PathWalk<'_> {
    fn step(&mut self) -> Result<(), TooMany> {
        self.steps += 1;
        if self.steps > MAX_STEPS || self.found.len() >= MAX_PLACES {
            return Err(TooMany);
        }
        Ok(())
    }

    /// The model's nesting bounds the recursion.
    fn members(
        &mut self,
        of: TypeId,
        base: u64,
        prefix: &str,
        path: &[Glob],
    ) -> Result<(), TooMany> {
        let model = self.model;
        let [name, rest @ ..] = path else { return Ok(()) };
        for (index, member) in model[of].kind.members().iter().enumerate() {
            self.step()?;
            let offset = base.saturating_add(member.offset);
            let inner = model.resolved(member.ty);
            let is_spelled = !member.name.is_empty() && (!member.inherited || name.is_plain());
            if is_spelled && name.matches(&member.name) {
                let path = format!("{prefix}{}", member.name);
                if rest.is_empty() {
                    let (size, bits) = (model.bytes_of(member), member.bits);
                    self.found.push(MemberPlace { path, owner: of, index, offset, size, bits });
                } else {
                    self.inside(inner, offset, path, rest)?;
                }
            } else if member.name.is_empty() || member.inherited {
                self.members(inner, offset, prefix, path)?;
            }
        }
        Ok(())
    }

    /// The composite itself, or each element of an array of it.
    fn inside(
        &mut self,
        ty: TypeId,
        offset: u64,
        mut path: String,
        rest: &[Glob],
    ) -> Result<(), TooMany> {
        let TypeKind::Array { element, count } = self.model[ty].kind else {
            path.push('.');
            return self.members(ty, offset, &path, rest);
        };
        let element = self.model.resolved(element);
        let stride = self.model[element].size;
        let count = if self.elements == ElementScope::First { 1 } else { count };
        for at in 0..count {
            self.step()?;
            let offset = offset.saturating_add(stride.saturating_mul(at));
            self.inside(element, offset, format!("{path}[{at}]"), rest)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::Maker;

    /// `struct outer { int a; union { int b; int c; }; struct inner { int b; } in[3]; }`
    fn outer(count: u64) -> (Model, TypeId) {
        let mut maker = Maker::new();
        let int = maker.int;
        let choice = maker.union("", 4, &[("b", 0, int), ("c", 0, int)]);
        let inner = maker.add("inner", 4, &[("b", 0, int)]);
        let array = maker.array(inner, count);
        let id = maker.add("outer", 20, &[("a", 0, int), ("", 4, choice), ("in", 8, array)]);
        (maker.finish(), id)
    }

    fn resolved(path: &str, elements: ElementScope) -> Vec<(String, u64)> {
        let (model, id) = outer(3);
        let places = MemberPath::parse(path).unwrap().resolve(&model, id, elements).unwrap();
        places.into_iter().map(|place| (place.path, place.offset)).collect()
    }

    #[test]
    fn a_path_leads_through_anonymous_members_without_naming_them() {
        assert_eq!(resolved("c", ElementScope::All), [("c".to_owned(), 4)]);
        assert_eq!(resolved("nothing", ElementScope::All), []);
    }

    #[test]
    fn a_path_leads_through_every_element_of_an_array() {
        let all = resolved("in.b", ElementScope::All);
        let expected = [("in[0].b", 8), ("in[1].b", 12), ("in[2].b", 16)];
        assert_eq!(all, expected.map(|(path, offset)| (path.to_owned(), offset)));
        assert_eq!(resolved("in.b", ElementScope::First).len(), 1);
    }

    #[test]
    fn a_star_is_all_members_anonymous_ones_inside_included() {
        let all: Vec<_> =
            resolved("*", ElementScope::All).into_iter().map(|(path, _)| path).collect();
        assert_eq!(all, ["a", "b", "c", "in"]);
    }

    #[test]
    fn a_path_into_an_endless_array_is_given_up() {
        let (model, id) = outer(u64::MAX);
        let path = MemberPath::parse("in.b").unwrap();
        assert_eq!(path.resolve(&model, id, ElementScope::All), Err(TooMany));
        let path = MemberPath::parse("in.none").unwrap();
        assert_eq!(path.resolve(&model, id, ElementScope::All), Err(TooMany));
    }

    #[test]
    fn a_type_ends_at_the_first_dot_outside_its_brackets() {
        for (text, ty, path) in [
            ("dst_entry.__refcnt", "dst_entry", "__refcnt"),
            ("rtable.dst.__refcnt", "rtable", "dst.__refcnt"),
            ("a::B<1.5, fn() -> c>.v", "a::B<1.5, fn() -> c>", "v"),
            ("f<int(...)>.x.y", "f<int(...)>", "x.y"),
        ] {
            let pattern = MemberPattern::parse(text).unwrap();
            assert_eq!((pattern.ty.as_str(), &*pattern.path.to_string()), (ty, path));
        }
        for text in ["", "dst_entry", "a.", ".a", "a..b", "a<b.c", "a. b"] {
            assert!(MemberPattern::parse(text).is_err(), "{text}");
        }
    }
}
