//! A line map before it is drawn: the same for a terminal and for a page.
//!
//! A [`LinePicture`] is a [`TypeMap`] with what the findings and suggestions say about each cell, folded to
//! the lines that matter where the type has many.

use std::collections::HashSet;

use super::prose;
use tenure_model::{Cell, Embedder, Line, Move, Report, Role, Suggestion, TypeMap};

#[derive(Debug, Clone, PartialEq)]
pub(super) struct LinePicture {
    pub(super) line_bytes: u64,
    pub(super) rows: Vec<PictureRow>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum PictureRow {
    Line {
        offset: u64,
        /// What lies on it, by offset.
        blocks: Vec<PictureBlock>,
        groups: Vec<EmbedGroup>,
    },
    Gap(String),
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct PictureBlock {
    /// The path from the type; of something without a name its type; empty for a hole.
    pub(super) path: String,
    /// The same, without the name of the group that it is in.
    pub(super) label: String,
    pub(super) type_name: String,
    pub(super) offset: u64,
    pub(super) size: u64,
    pub(super) role: Role,
    pub(super) state: BlockState,
    pub(super) moved: bool,
    pub(super) continued: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BlockState {
    Contended,
    /// A contended word in a suggested order.
    Settled,
    /// It shares a line with such a word and is likely read meanwhile.
    Victim,
    Relieved,
    ReadMostly,
    Cold,
    Hole,
    Plain,
}

/// Members of one embedded struct on one line.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct EmbedGroup {
    pub(super) name: String,
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) opens: bool,
    pub(super) closes: bool,
}

/// What a type's map does not say itself.
#[derive(Debug, Clone, Default)]
pub(super) struct Marks<'a> {
    pub(super) victims: Vec<&'a str>,
    pub(super) moved: Vec<&'a str>,
    /// Whether these may be members of an embedded struct, wherever it lies.
    pub(super) embedded: bool,
    /// Whether the map is of the suggested order.
    pub(super) after: bool,
}

impl<'a> Marks<'a> {
    /// What findings and a suggestion say of the suggestion's own type.
    pub(super) fn of_suggestion(report: &'a Report, suggestion: &'a Suggestion) -> Self {
        Self {
            victims: victims(report, &suggestion.type_name),
            moved: names(&suggestion.moves),
            ..Self::default()
        }
    }

    /// The same for a type that embeds it: of its own members and of the embedded ones.
    pub(super) fn of_embedder(
        report: &'a Report,
        suggestion: &'a Suggestion,
        embedder: &'a Embedder,
    ) -> Self {
        let Self { mut victims, mut moved, .. } = Self::of_suggestion(report, suggestion);
        victims.extend(self::victims(report, &embedder.type_name));
        moved.extend(names(&embedder.moves));
        Self { victims, moved, embedded: true, after: false }
    }

    /// The same, for the map of the suggested order.
    pub(super) fn after(&self) -> Self {
        Self { after: true, ..self.clone() }
    }

    fn suffers(&self, path: &str) -> bool {
        self.victims.iter().any(|name| self.names(path, name))
    }

    fn moves(&self, path: &str) -> bool {
        self.moved.iter().any(|name| self.names(path, name))
    }

    /// Whether a name is that of a cell, of a part of it or of what it is a part of.
    fn names(&self, path: &str, name: &str) -> bool {
        let part = |path: &str| {
            path.strip_prefix(name)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[', ',', ' ']))
        };
        path.split([',', '|']).map(str::trim).any(|each| {
            part(each)
                || self.embedded && each.match_indices('.').any(|(dot, _)| part(&each[dot + 1..]))
        }) || path == name
    }
}

fn victims<'a>(report: &'a Report, type_name: &str) -> Vec<&'a str> {
    let of = report.findings.iter().filter(|finding| finding.type_name == type_name);
    of.flat_map(|finding| &finding.victims).map(|victim| victim.path.as_str()).collect()
}

fn names(moves: &[Move]) -> Vec<&str> {
    moves.iter().map(|one| one.member.as_str()).collect()
}

impl LinePicture {
    /// All lines up to `most`; of more, those that `keep` wants, given the line's number and its cells.
    pub(super) fn of(
        map: &TypeMap,
        line_bytes: u64,
        marks: &Marks<'_>,
        most: usize,
        keep: impl Fn(u64, &[PictureBlock]) -> bool,
    ) -> Self {
        let line_bytes = line_bytes.max(1);
        let beside = beside(map);
        let lines: Vec<(u64, Vec<PictureBlock>)> = map
            .lines
            .iter()
            .map(|line| (line.index, blocks(line, marks, &beside)))
            .filter(|(_, blocks)| !blocks.is_empty())
            .collect();
        let few = lines.len() <= most;
        let kept: Vec<bool> =
            lines.iter().map(|(index, blocks)| few || keep(*index, blocks)).collect();
        let mut rows = Vec::new();
        let mut at = 0;
        while at < lines.len() {
            let (index, blocks) = &lines[at];
            if at > 0 && lines[at - 1].0 + 1 < *index {
                rows.push(PictureRow::Gap(absent(&lines[at - 1], &lines[at])));
            }
            let end = (at..lines.len()).find(|&next| kept[next]).unwrap_or(lines.len());
            // To say that one line is left out takes a line.
            if end > at + 1 {
                rows.push(PictureRow::Gap(folded(&lines[at..end])));
                at = end;
                continue;
            }
            let before = at.checked_sub(1).and_then(|before| lines[before].1.last());
            let after = lines.get(at + 1).and_then(|after| after.1.first());
            rows.push(row(index.saturating_mul(line_bytes), blocks.clone(), before, after));
            at += 1;
        }
        let shown = lines.last().map_or(0, |(index, _)| index + 1);
        if map.line_count > shown {
            rows.push(PictureRow::Gap(format!("{} more", prose::lines(map.line_count - shown))));
        }
        Self { line_bytes, rows }
    }

    pub(super) fn blocks(&self) -> impl Iterator<Item = &PictureBlock> {
        self.rows.iter().flat_map(|row| match row {
            PictureRow::Line { blocks, .. } => blocks.as_slice(),
            PictureRow::Gap(_) => &[],
        })
    }
}

pub(super) fn is_marked(block: &PictureBlock) -> bool {
    block.moved
        || matches!(
            block.state,
            BlockState::Contended | BlockState::Settled | BlockState::Victim | BlockState::Relieved
        )
}

/// The lines on which two maps of one type differ.
pub(super) fn differing(before: &TypeMap, after: &TypeMap) -> HashSet<u64> {
    fn place(cell: &Cell) -> (&str, u64, u64) {
        (&cell.path, cell.offset, cell.size)
    }
    fn other(of: &TypeMap, index: u64) -> impl Iterator<Item = (&str, u64, u64)> {
        let at = of.lines.binary_search_by_key(&index, |line| line.index);
        at.ok().into_iter().flat_map(|at| of.lines[at].cells.iter().map(place))
    }
    let one_way = |one: &TypeMap, two: &TypeMap| -> HashSet<u64> {
        one.lines
            .iter()
            .filter(|line| !line.cells.iter().map(place).eq(other(two, line.index)))
            .map(|line| line.index)
            .collect()
    };
    &one_way(before, after) | &one_way(after, before)
}

fn has_word(line: &Line) -> bool {
    line.cells.iter().any(|cell| cell.role.is_contended())
}

/// The members of which a part shares a line with a contended word.
fn beside(map: &TypeMap) -> HashSet<&str> {
    let lines = map.lines.iter().filter(|line| has_word(line));
    lines.flat_map(|line| &line.cells).map(|cell| cell.path.as_str()).collect()
}

fn blocks(line: &Line, marks: &Marks<'_>, beside: &HashSet<&str>) -> Vec<PictureBlock> {
    let contended = has_word(line);
    let state = |cell: &Cell| match cell.role {
        _ if cell.hole => BlockState::Hole,
        role if role.is_contended() && marks.after => BlockState::Settled,
        role if role.is_contended() => BlockState::Contended,
        _ if contended && marks.suffers(&cell.path) => BlockState::Victim,
        _ if marks.after && !beside.contains(&*cell.path) && marks.suffers(&cell.path) => {
            BlockState::Relieved
        }
        Role::ReadMostly => BlockState::ReadMostly,
        Role::Cold => BlockState::Cold,
        _ => BlockState::Plain,
    };
    let block = |cell: &Cell| {
        let path = if cell.path.is_empty() { &cell.type_name } else { &cell.path };
        PictureBlock {
            path: path.clone(),
            label: path.clone(),
            type_name: cell.type_name.clone(),
            offset: cell.offset,
            size: cell.size,
            role: cell.role,
            state: state(cell),
            moved: !cell.hole && marks.moves(&cell.path),
            continued: cell.continued,
        }
    };
    line.cells.iter().filter(|cell| cell.size > 0).map(block).collect()
}

/// The member of the type that a longer path goes through.
fn head(block: &PictureBlock) -> Option<&str> {
    let end = block.path.find(['.', ',', '|'])?;
    let is_step = block.path[end..].starts_with('.') && !block.path[end..].starts_with("..");
    is_step.then(|| &block.path[..end])
}

fn row(
    offset: u64,
    mut blocks: Vec<PictureBlock>,
    before: Option<&PictureBlock>,
    after: Option<&PictureBlock>,
) -> PictureRow {
    let mut groups: Vec<(EmbedGroup, usize)> = Vec::new();
    for (index, block) in blocks.iter().enumerate() {
        let Some(name) = head(block) else { continue };
        match groups.last_mut() {
            // Holes between its members are the struct's own.
            Some((group, first))
                if group.name == name
                    && blocks[*first..index].iter().all(|block| {
                        block.state == BlockState::Hole || head(block) == Some(name)
                    }) =>
            {
                group.to = block.offset + block.size;
            }
            _ => {
                let from = block.offset;
                let is_first = blocks[..index].iter().all(|block| block.state == BlockState::Hole);
                let opens = !is_first || before.is_none_or(|before| head(before) != Some(name));
                let group = EmbedGroup {
                    name: name.to_owned(),
                    from,
                    to: from + block.size,
                    opens,
                    closes: true,
                };
                groups.push((group, index));
            }
        }
    }
    if let (Some((group, _)), Some(last)) = (groups.last_mut(), blocks.last()) {
        let goes_on = after.is_some_and(|after| head(after) == Some(&group.name));
        group.closes = !(goes_on && group.to == last.offset + last.size);
    }
    // A struct of which there is one member to see has its name in the member's.
    let of = |group: &EmbedGroup, block: &PictureBlock| {
        (group.from..group.to).contains(&block.offset) && head(block) == Some(&group.name)
    };
    let groups: Vec<EmbedGroup> = groups
        .into_iter()
        .map(|(group, _)| group)
        .filter(|group| blocks.iter().filter(|block| of(group, block)).count() > 1)
        .collect();
    for block in &mut blocks {
        if let Some(group) = groups.iter().find(|group| of(group, block)) {
            // Alternatives and bit fields in one cell are each in the group.
            let prefix = format!("{}.", group.name);
            let inner = |separator: &str| [separator, &prefix].concat();
            block.label = block.path[prefix.len()..]
                .replace(&inner(" | "), " | ")
                .replace(&inner(", "), ", ");
        }
    }
    PictureRow::Line { offset, blocks, groups }
}

fn absent(before: &(u64, Vec<PictureBlock>), after: &(u64, Vec<PictureBlock>)) -> String {
    let lines = prose::lines(after.0 - before.0 - 1);
    match (before.1.last(), after.1.first()) {
        (Some(before), Some(after)) if after.continued && before.path == after.path => {
            format!("{lines} of {}", before.path)
        }
        _ => lines,
    }
}

fn folded(lines: &[(u64, Vec<PictureBlock>)]) -> String {
    let named = |block: &&PictureBlock| block.state != BlockState::Hole && !block.path.is_empty();
    let mut all = lines.iter().flat_map(|(_, blocks)| blocks).filter(named);
    let count = lines.last().map_or(0, |last| last.0 + 1) - lines[0].0;
    let count = prose::lines(count);
    match (all.next(), all.next_back()) {
        (Some(first), Some(last)) => format!("{count}: {} … {}", first.path, last.path),
        (Some(only), None) => format!("{count}: {}", only.path),
        _ => count,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;

    fn all(_: u64, _: &[PictureBlock]) -> bool {
        true
    }

    fn block<'a>(picture: &'a LinePicture, path: &str) -> &'a PictureBlock {
        picture.blocks().find(|block| block.path == path).unwrap()
    }

    #[test]
    fn a_victim_that_gets_away_is_relieved_and_one_that_stays_is_not() {
        let report = fixtures::route();
        let outer = &report.suggestions[0].embedders[0];
        let marks = Marks { victims: vec!["rt_genid", "dst.lwtstate"], ..Marks::default() };
        let before = LinePicture::of(outer.before.as_ref().unwrap(), 64, &marks, 16, all);
        let after = LinePicture::of(outer.after.as_ref().unwrap(), 64, &marks.after(), 16, all);
        assert_eq!(block(&before, "dst.__refcnt").state, BlockState::Contended);
        assert_eq!(block(&after, "dst.__refcnt").state, BlockState::Settled);
        for path in ["rt_genid", "dst.lwtstate"] {
            assert_eq!(block(&before, path).state, BlockState::Victim);
            assert_eq!(block(&after, path).state, BlockState::Relieved);
        }
        assert_eq!(block(&after, "dst.callback_head").state, BlockState::Cold);
    }

    #[test]
    fn of_a_victim_across_two_lines_the_part_beside_the_word_is_marked_and_none_is_relieved() {
        let mut map = fixtures::route().maps[1].clone();
        map.lines[2].cells[0].path = "rt_iif".to_owned();
        let marks = Marks { victims: vec!["rt_iif"], ..Marks::default() };
        for marks in [marks.after(), marks] {
            let picture = LinePicture::of(&map, 64, &marks, 16, all);
            let states: Vec<BlockState> = picture
                .blocks()
                .filter(|block| block.path == "rt_iif")
                .map(|block| block.state)
                .collect();
            assert_eq!(states, [BlockState::Victim, BlockState::Plain]);
        }
    }

    #[test]
    fn members_of_an_embedded_struct_are_a_group_and_lose_its_name() {
        let report = fixtures::route();
        let map = report.maps.iter().find(|map| map.name == "rtable").unwrap();
        let picture = LinePicture::of(map, 64, &Marks::default(), 16, all);
        assert_eq!(block(&picture, "dst.__refcnt").label, "__refcnt");
        assert_eq!(block(&picture, "rt_genid").label, "rt_genid");
        let PictureRow::Line { groups, .. } = &picture.rows[1] else { panic!("{picture:?}") };
        let expected =
            EmbedGroup { name: "dst".to_owned(), from: 64, to: 112, opens: false, closes: true };
        assert_eq!(groups, &[expected]);
    }

    #[test]
    fn names_match_members_and_their_parts_but_no_longer_names() {
        let marks = Marks::default();
        for path in ["list", "list.next", "list[3]", "a, list", "list, b", "a | list"] {
            assert!(marks.names(path, "list"), "{path}");
        }
        for path in ["list_head", "dst.list", "", "lis"] {
            assert!(!marks.names(path, "list"), "{path}");
        }
        assert!(Marks { embedded: true, ..marks }.names("u.dst.list.next", "list"));
    }

    #[test]
    fn what_is_left_out_is_told() {
        let report = fixtures::large();
        let gaps = |name: &str| -> Vec<String> {
            let map = report.maps.iter().find(|map| map.name == name).unwrap();
            let marked = |_: u64, blocks: &[PictureBlock]| blocks.iter().any(is_marked);
            let picture = LinePicture::of(map, 64, &Marks::default(), 16, marked);
            assert!(picture.rows.len() <= 16);
            picture
                .rows
                .into_iter()
                .filter_map(|row| match row {
                    PictureRow::Gap(words) => Some(words),
                    PictureRow::Line { .. } => None,
                })
                .collect()
        };
        assert_eq!(gaps("conn_table"), ["98 lines of stats[]", "195 lines of buckets[]"]);
        let folded = gaps("net_device");
        assert_eq!(folded[0], "20 lines: member_0 … member_159", "{folded:?}");
    }

    #[test]
    fn only_lines_that_differ_differ() {
        let report = fixtures::route();
        let suggestion = &report.suggestions[0];
        assert_eq!(differing(&suggestion.before, &suggestion.before), HashSet::new());
        assert_eq!(differing(&suggestion.before, &suggestion.after), HashSet::from([0, 1]));
    }
}
