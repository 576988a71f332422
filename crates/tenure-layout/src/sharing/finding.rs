use super::{Array, RawFinding, Site, Sufferer, elements, statics};
use crate::evidence::{CodeEvidence, Uses};
use crate::lines::{Flat, LayoutModel, Leaf};
use tenure_debuginfo::model::TypeId;
use tenure_model::{Confidence, Finding, Kind, Level, Origin, Role, Sharing, Signal, Word};

const UNUSED: &str = "no code was seen to use it";

/// Puts a finding into words. Slow for many: filter first.
pub(crate) fn finding(layouts: &LayoutModel<'_>, rank: usize, found: &RawFinding) -> Finding {
    let flat = match found.site {
        Site::Type { id, .. } | Site::Elements { element: id, .. } => Some(layouts.flat(id)),
        Site::Statics { .. } => None,
    };
    let words = FindingWords { layouts, found, flat };
    Finding {
        rank: rank as u64,
        type_name: words.type_name(),
        declared: found.type_id().and_then(|id| layouts.declared(id)),
        sharing: words.sharing(),
        kind: Kind::FalseSharing,
        contended: words.contended(),
        victims: found.victims.iter().map(|victim| words.victim(victim)).collect(),
        score: found.score,
        signals: words.signals(),
        origin: Origin::Yours,
        instances: 1,
        observed: None,
        lock: None,
        measured: None,
        confidence: confidence(layouts, found),
        repairs: Vec::new(),
        forecast: None,
        pattern: None,
    }
}

struct FindingWords<'a> {
    layouts: &'a LayoutModel<'a>,
    found: &'a RawFinding,
    flat: Option<Flat>,
}

impl<'a> FindingWords<'a> {
    fn type_name(&self) -> String {
        match (self.found.type_id(), self.found.site) {
            (Some(id), _) => self.layouts.spelled(id),
            (None, Site::Statics { index }) => self.section(index),
            (None, Site::Elements { array, element, .. }) => self.array(array, element),
            (None, Site::Type { .. }) => String::new(),
        }
    }

    fn section(&self, variable: usize) -> String {
        self.layouts.model.statics()[variable].section.to_string()
    }

    fn sharing(&self) -> Sharing {
        match (self.found.site, &self.flat) {
            (Site::Type { through: Some(step), .. }, Some(flat)) => {
                let (inner, offset) = flat.embedded(step);
                let member = flat.path_of(self.layouts, step);
                // Without a name of its own it has that of the member that holds it.
                let inner = match &*self.layouts.model[inner].name {
                    "" => format!("{}.{member}", self.type_name()),
                    _ => self.layouts.spelled(inner),
                };
                Sharing::Embedding { inner, member, offset }
            }
            (Site::Elements { array, element, stride, count }, _) => {
                Sharing::Elements { array: self.array(array, element), stride, count }
            }
            (Site::Statics { index }, _) => {
                let (section, address) = (self.section(index), self.found.word.offset);
                Sharing::Statics { section, address }
            }
            (Site::Type { .. }, _) => Sharing::Within,
        }
    }

    fn array(&self, array: Array, element: TypeId) -> String {
        let model = self.layouts.model;
        match array {
            Array::Member { owner, member } => {
                let member = &model[owner].kind.members()[member].name;
                format!("{}.{member}", self.layouts.spelled(owner))
            }
            Array::Static(index) => model.statics()[index].name.to_string(),
            Array::Pointed => format!("{}[]", self.layouts.spelled(element)),
        }
    }

    /// What the code does to a leaf, if it was read.
    fn uses(&self, leaf: &Leaf, variable: usize) -> Option<(&'a CodeEvidence, Uses)> {
        let uses = match (self.found.site, &self.flat) {
            (Site::Statics { .. }, _) => statics::uses(self.layouts, variable, leaf),
            (Site::Elements { array, element, .. }, _) if self.found.signals.chosen.is_some() => {
                elements::uses(self.layouts, (array, element), leaf)
            }
            (Site::Elements { array, element, .. }, Some(flat)) => {
                elements::any_uses(self.layouts, flat, (array, element), leaf)
            }
            (_, flat) => flat.as_ref().and_then(|flat| flat.uses(self.layouts, leaf)),
        };
        self.layouts.evidence.zip(uses)
    }

    fn signals(&self) -> Vec<Signal> {
        let mut signals = self.found.signals.words();
        let uses = self.uses(&self.found.word, self.variable());
        if let (Some(factor), Some((evidence, uses))) = (self.found.signals.code, uses) {
            let seen = match self.found.signals.chosen {
                Some(_) => Some(uses.chosen().chosen_words(evidence)),
                None => uses.changed(evidence).or_else(|| uses.words(evidence)),
            };
            let seen = seen.unwrap_or_else(|| UNUSED.to_owned());
            signals.push(Signal { name: "code".to_owned(), factor, seen });
        }
        signals
    }

    /// The contended variable's place among all.
    fn variable(&self) -> usize {
        match self.found.site {
            Site::Statics { index } => index,
            _ => 0,
        }
    }

    fn contended(&self) -> Word {
        let word = self.word(&self.found.word, 0, self.variable());
        let role = if self.found.is_plain() { Role::Written } else { word.role };
        Word { role, ..word }
    }

    fn victim(&self, victim: &Sufferer) -> Word {
        let mut why = victim.why.words();
        if let Some((evidence, uses)) = self.uses(&victim.leaf, victim.variable) {
            why += "; ";
            why += uses.words(evidence).as_deref().unwrap_or(UNUSED);
        }
        let word = self.word(&victim.leaf, 1, victim.variable);
        let is_written = match &self.flat {
            Some(flat) => flat.is_written(self.layouts, &victim.leaf),
            None => self.layouts.is_written(&victim.leaf),
        };
        let role = if is_written { Role::Written } else { word.role };
        Word { weight: Some(victim.weight), why, role, ..word }
    }

    /// A leaf of a type, of an array's `element`th, or of a variable.
    fn word(&self, leaf: &Leaf, element: u64, variable: usize) -> Word {
        let layouts = self.layouts;
        let path = self.flat.as_ref().map(|flat| flat.path(layouts, leaf)).unwrap_or_default();
        let (path, offset) = match self.found.site {
            Site::Type { .. } => (path, leaf.offset),
            Site::Elements { stride, .. } => {
                let path = inside(&format!("[{element}]"), &path);
                (path, stride.saturating_mul(element).saturating_add(leaf.offset))
            }
            Site::Statics { .. } => {
                let start = layouts.line_of(self.found.word.offset) * layouts.line_bytes;
                let variable = &layouts.model.statics()[variable];
                let path = match leaf.is_whole() {
                    true => variable.name.to_string(),
                    false => inside(&variable.name, &layouts.flat(variable.ty).path(layouts, leaf)),
                };
                (path, leaf.offset.saturating_sub(start))
            }
        };
        Word {
            path,
            offset: i64::try_from(offset).unwrap_or(i64::MAX),
            size: leaf.size,
            type_name: layouts.spelled(leaf.ty),
            member_of: None,
            role: leaf.role,
            weight: None,
            why: String::new(),
            uses: Vec::new(),
            measured: None,
        }
    }
}

fn inside(value: &str, path: &str) -> String {
    let dot = if path.is_empty() || path.starts_with('[') { "" } else { "." };
    format!("{value}{dot}{path}")
}

fn confidence(layouts: &LayoutModel<'_>, found: &RawFinding) -> Confidence {
    let placements = found.signals.placements;
    let (level, why) = match found.site {
        Site::Type { id, .. } => return confidence_of_type(layouts, id, placements),
        Site::Statics { .. } => (Level::High, "the linker fixed their addresses".to_owned()),
        Site::Elements { stride, .. } => {
            let level = if placements >= 0.5 { Level::High } else { Level::Medium };
            (level, format!("an element takes {stride} bytes of a line's {}", layouts.line_bytes))
        }
    };
    Confidence { level, placements, why }
}

/// How certain it is that members of a type share a line, if they do at a share of all placements.
pub(crate) fn confidence_of_type(
    layouts: &LayoutModel<'_>,
    id: TypeId,
    placements: f64,
) -> Confidence {
    let align = layouts.model[id].align;
    let (level, why) = if align >= layouts.line_bytes {
        (Level::High, format!("aligned to {align} bytes: every object starts on a line"))
    } else if layouts.fills_slabs(id) {
        (Level::High, "it fills lines: a slab starts every object on one".to_owned())
    } else if placements >= 1.0 {
        (Level::High, "on one line wherever the object lies".to_owned())
    } else {
        let level = if placements >= 0.5 { Level::Medium } else { Level::Low };
        let percent = 100.0 * placements;
        let why = format!(
            "certain for an object that starts on a line, {percent:.0} % of all places otherwise"
        );
        (level, why)
    };
    Confidence { level, placements, why }
}
