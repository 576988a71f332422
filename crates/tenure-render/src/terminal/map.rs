//! Line maps in characters.
//!
//! A row is a cache line, a cell as wide as its member is long: as many columns to a byte as the terminal
//! has room for. What a cell has no room for is below it, in full, with its offset:
//!
//! ```text
//!        0       8       16      24      32      40      48      56
//!       ┌ dst ──────────────────────────────────────────┐
//!   64  │!_…│*__│*lastu…│*lwtst…│~callback_head ││~│*tc│*rt│*rt│*│││*rt│
//!        64 !__refcnt  68 *__use  72 *lastuse  80 *lwtstate  …
//! ```

use console::Style as Look;
use tenure_report::terminal::Style;

use super::text::{Styled, TerminalText, cut, measured, padded};
use crate::picture::{
    BlockState, EmbedGroup, LinePicture, Marks, PictureBlock, PictureRow, is_marked,
};
use tenure_model::TypeMap;

/// The most columns for a byte: wider lines are hard to follow.
const MAX_SCALE: usize = 10;

/// Columns for a byte are a multiple of 1/4, so that members of four bytes are all equally wide.
const STEPS: usize = 4;

pub(super) fn render(text: &mut TerminalText, picture: &LinePicture) {
    for line in Canvas::new(picture, text.width()).draw(text.style()) {
        text.line(&line.text);
    }
}

/// A map of at most `max_lines` lines, or of those with a mark, and its legend.
pub(super) fn render_marked(
    text: &mut TerminalText,
    line_bytes: u64,
    map: &TypeMap,
    marks: &Marks<'_>,
    max_lines: usize,
) {
    let is_kept = |_, blocks: &[PictureBlock]| blocks.iter().any(is_marked);
    let picture = LinePicture::of(map, line_bytes, marks, max_lines, is_kept);
    render(text, &picture);
    legend(text, &[&picture]);
}

pub(super) fn legend(text: &mut TerminalText, pictures: &[&LinePicture]) {
    const STATES: [(BlockState, &str); 7] = [
        (BlockState::Contended, "contended"),
        (BlockState::Settled, "contended, in the better layout"),
        (BlockState::Victim, "suffers"),
        (BlockState::Relieved, "suffers no longer"),
        (BlockState::ReadMostly, "read-mostly"),
        (BlockState::Cold, "cold"),
        (BlockState::Hole, "hole"),
    ];
    let style = text.style();
    let blocks = || pictures.iter().flat_map(|picture| picture.blocks());
    let entry = |sign: &str, look: Look, meaning: &str| {
        Styled::new(sign, |sign| style.text(look, sign))
            .and(&Styled::new(&format!(" {meaning}"), |text| style.quiet(text)))
    };
    let mut entries: Vec<Styled> = STATES
        .iter()
        .filter(|(state, _)| blocks().any(|block| block.state == *state))
        .map(|&(state, meaning)| entry(sign(state), look(state), meaning))
        .collect();
    if blocks().any(|block| block.moved) {
        entries.push(entry("→", moved(), "moves"));
    }
    text.items(&entries, "   ", 2);
}

pub(super) fn sign(state: BlockState) -> &'static str {
    match state {
        BlockState::Contended | BlockState::Settled => "!",
        BlockState::Victim => "*",
        BlockState::Relieved => "✓",
        BlockState::ReadMostly => "=",
        BlockState::Cold => "~",
        BlockState::Hole => "░",
        BlockState::Plain => "",
    }
}

pub(super) fn look(state: BlockState) -> Look {
    match state {
        BlockState::Contended => Look::new().red().bold(),
        BlockState::Settled => Look::new().red(),
        BlockState::Victim => Look::new().yellow(),
        BlockState::Relieved => Look::new().green(),
        BlockState::ReadMostly => Look::new().cyan(),
        BlockState::Cold | BlockState::Hole => Look::new().dim(),
        BlockState::Plain => Look::new(),
    }
}

pub(super) fn moved() -> Look {
    Look::new().magenta().bold()
}

fn fill(block: &PictureBlock) -> Look {
    match block.state {
        BlockState::Contended => Look::new().white().on_red().bold(),
        BlockState::Victim => Look::new().black().on_yellow(),
        BlockState::Relieved => Look::new().black().on_green(),
        _ if block.moved => moved(),
        state => look(state),
    }
}

#[derive(Debug, Clone)]
pub(super) struct Canvas<'a> {
    picture: &'a LinePicture,
    /// Columns before the first byte.
    margin: usize,
    /// Columns for [`STEPS`] bytes.
    scale: usize,
    width: usize,
}

impl<'a> Canvas<'a> {
    pub(super) fn new(picture: &'a LinePicture, width: usize) -> Self {
        let longest = picture.rows.iter().map(|row| match row {
            PictureRow::Line { offset, .. } => offset.to_string().len(),
            PictureRow::Gap(_) => 0,
        });
        let margin = longest.max().unwrap_or(0).max(3) + 3;
        let bytes = usize::try_from(picture.line_bytes).unwrap_or(usize::MAX);
        let room = width.saturating_sub(margin + 1);
        let scale = (room.saturating_mul(STEPS) / bytes).clamp(1, MAX_SCALE);
        Self { picture, margin, scale, width }
    }

    /// Whether most members have room for a part of their names.
    pub(super) fn is_roomy(&self) -> bool {
        self.scale > STEPS
    }

    pub(super) fn draw(&self, style: Style) -> Vec<Styled> {
        let mut lines = vec![self.ruler(style)];
        for row in &self.picture.rows {
            match row {
                PictureRow::Gap(words) => {
                    let words = cut(words, self.width.saturating_sub(self.margin + 2));
                    let sign = format!("{:>1$} ", "⋮", self.margin);
                    lines.push(Styled::new(&format!("{sign} {words}"), |text| style.quiet(text)));
                }
                PictureRow::Line { offset, blocks, groups } => {
                    lines.extend(self.groups(*offset, groups, style));
                    let (cells, unnamed) = self.cells(*offset, blocks, style);
                    lines.push(cells);
                    lines.extend(self.names(&unnamed, style));
                }
            }
        }
        lines
    }

    fn column(&self, byte: u64) -> usize {
        let byte = usize::try_from(byte.min(self.picture.line_bytes)).unwrap_or(usize::MAX);
        self.margin + (byte.saturating_mul(self.scale) / STEPS).min(self.width)
    }

    fn ruler(&self, style: Style) -> Styled {
        let mut line = String::new();
        for byte in (0..self.picture.line_bytes).step_by(8) {
            let column = self.column(byte) + 1;
            let free = line.chars().count();
            if column > free || (free == 0 && column == 0) {
                line += &" ".repeat(column - free);
                line += &format!("+{byte}");
            }
        }
        Styled::new(&cut(&line, self.width), |line| style.quiet(line))
    }

    /// The brackets over the members of embedded structs, where they begin or end.
    fn groups(&self, offset: u64, groups: &[EmbedGroup], style: Style) -> Option<Styled> {
        let is_told = |group: &EmbedGroup| group.opens || group.closes;
        if !groups.iter().any(is_told) {
            return None;
        }
        let mut line = String::new();
        let mut free = 0;
        for group in groups {
            let from = self.column(group.from.saturating_sub(offset));
            let to = self.column(group.to.saturating_sub(offset));
            if to <= from + 1 || from < free {
                continue;
            }
            line += &" ".repeat(from - free);
            let inner = to - from - 1;
            let name = cut(&format!(" {} ", group.name), inner);
            let name = if inner < 4 { String::new() } else { name };
            line.push(if group.opens { '┌' } else { '─' });
            line += &name;
            line += &"─".repeat(inner - measured(&name));
            line.push(if group.closes { '┐' } else { '─' });
            free = to + 1;
        }
        (free > 0).then(|| Styled::new(&line, |line| style.quiet(line)))
    }

    fn cells<'b>(
        &self,
        offset: u64,
        blocks: &'b [PictureBlock],
        style: Style,
    ) -> (Styled, Vec<&'b PictureBlock>) {
        let bar = || Styled::new("│", |bar| style.quiet(bar));
        let mut line =
            Styled::new(&format!("{offset:>0$}", self.margin - 1), |text| style.quiet(text))
                .and(&Styled::plain(" "));
        let mut unnamed = Vec::new();
        for block in blocks {
            let from = self.column(block.offset.saturating_sub(offset));
            let to = self.column((block.offset - offset).saturating_add(block.size));
            if to <= from {
                unnamed.push(block);
                continue;
            }
            let inner = to - from - 1;
            if inner == 0 {
                // No room but for the bar itself.
                let sign = sign(block.state);
                line = match sign {
                    "" => line.and(&bar()),
                    sign => line.and(&Styled::new(sign, |sign| style.text(fill(block), sign))),
                };
                unnamed.push(block);
                continue;
            }
            let (text, is_whole) = label(block, inner);
            line = line.and(&bar()).and(&Styled::new(&text, |text| style.text(fill(block), text)));
            if !is_whole {
                unnamed.push(block);
            }
        }
        unnamed.retain(|block| block.state != BlockState::Hole);
        (line.and(&bar()), unnamed)
    }

    fn names(&self, unnamed: &[&PictureBlock], style: Style) -> Vec<Styled> {
        const SEPARATOR: &str = "  ";
        let room = self.width.saturating_sub(self.margin + 1).max(8);
        let mut lines: Vec<Styled> = Vec::new();
        for block in unnamed {
            let at = format!("{} ", block.offset);
            let name =
                cut(&format!("{}{}", signs(block), shown(block)), room.saturating_sub(at.len()));
            let look = match block.state {
                BlockState::Plain if block.moved => moved(),
                BlockState::Plain => Look::new().dim(),
                state => look(state),
            };
            let item = Styled::new(&at, |at| style.quiet(at))
                .and(&Styled::new(&name, |name| style.text(look, name)));
            match lines.last_mut() {
                Some(line) if line.width + SEPARATOR.len() + item.width <= self.width => {
                    *line = line.clone().and(&Styled::plain(SEPARATOR)).and(&item);
                }
                _ => lines.push(Styled::plain(&" ".repeat(self.margin + 1)).and(&item)),
            }
        }
        lines
    }
}

fn signs(block: &PictureBlock) -> String {
    format!("{}{}", sign(block.state), if block.moved { "→" } else { "" })
}

fn shown(block: &PictureBlock) -> String {
    format!("{}{}", if block.continued { "…" } else { "" }, block.label)
}

/// The text of a cell, padded, and whether it is the whole name.
fn label(block: &PictureBlock, columns: usize) -> (String, bool) {
    if block.state == BlockState::Hole {
        return ("░".repeat(columns), true);
    }
    let text = format!("{}{}", signs(block), shown(block));
    let is_whole = measured(&text) <= columns;
    // In a few columns a letter says more than the sign that there were more.
    let text = match is_whole || columns > 4 {
        true => text,
        false => console::truncate_str(&text, columns, "").into_owned(),
    };
    (padded(&text, columns), is_whole)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;

    fn drawn(name: &str, width: usize) -> Vec<String> {
        let report = fixtures::route();
        let map = report.maps.iter().find(|map| map.name == name).unwrap();
        let marks = Marks { victims: vec!["rt_genid"], ..Marks::default() };
        let picture = LinePicture::of(map, 64, &marks, 16, |_, _| true);
        let plain = Style { width, colour: false };
        let lines = Canvas::new(&picture, width).draw(plain);
        lines.into_iter().map(|line| line.text).collect()
    }

    #[test]
    fn a_byte_has_as_many_columns_in_every_line() {
        for width in [60, 80, 100, 120, 160] {
            let all = drawn("rtable", width);
            let lines: Vec<_> = all.iter().filter(|line| line.ends_with('│')).collect();
            assert_eq!(lines.len(), 3, "{all:#?}");
            assert_eq!(measured(lines[0]), measured(lines[1]), "{all:#?}");
        }
    }

    #[test]
    fn every_member_is_named_in_full_somewhere() {
        let report = fixtures::route();
        for width in [40, 60, 80, 140] {
            let text = drawn("rtable", width).join("\n");
            for cell in report.maps[1].lines.iter().flat_map(|line| &line.cells) {
                let name = cell.path.strip_prefix("dst.").unwrap_or(&cell.path);
                assert!(text.contains(name), "{name} at {width}\n{text}");
            }
        }
    }

    #[test]
    fn contended_words_and_victims_have_signs_and_embedded_structs_brackets() {
        let text = drawn("rtable", 140).join("\n");
        assert!(text.contains("│!__ref"), "{text}");
        assert!(text.contains("│*rt_ge…"), "{text}");
        assert!(text.contains("┌ dst ──"), "{text}");
        assert!(text.contains("──┐"), "{text}");
    }
}
