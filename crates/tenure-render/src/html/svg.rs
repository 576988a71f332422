//! Line maps as SVG: one row for each cache line, cells as wide as members are long.

use std::fmt::Write as _;

use super::theme::look;
use crate::picture::{BlockState, EmbedGroup, LinePicture, PictureBlock, PictureRow};
use crate::prose;

/// Pixels of a line's bytes.
const LINE: f64 = 1024.0;
const LEFT: f64 = 56.0;
const WIDTH: f64 = LEFT + LINE + 2.0;
const CELL: f64 = 56.0;
/// Space between two rows.
const GAP: f64 = 6.0;
/// The height of a bracket over embedded members, of the ruler, and of a row of lines left out.
const BRACKET: f64 = 18.0;
const RULER: f64 = 20.0;
const OMITTED: f64 = 26.0;
/// Size of the letters, and the pixels that each takes in a font of equal widths.
const TEXT: f64 = 10.5;
const LETTER: f64 = TEXT * 0.605;
const LEADING: f64 = 13.0;
/// Names stand upright in narrower cells.
const UPRIGHT: f64 = 44.0;

/// What a screen reader says in place of a map.
pub(super) struct AltText<'a> {
    pub(super) id: &'a str,
    pub(super) title: &'a str,
    pub(super) description: &'a str,
}

pub(super) fn map(picture: &LinePicture, alternative: &AltText<'_>) -> String {
    let mut canvas = Canvas { body: String::new(), y: 0.0, byte: LINE / bytes(picture.line_bytes) };
    canvas.ruler(picture.line_bytes);
    for row in &picture.rows {
        match row {
            PictureRow::Gap(words) => canvas.gap(words),
            PictureRow::Line { offset, blocks, groups } => canvas.line(*offset, blocks, groups),
        }
    }
    let AltText { id, title, description } = alternative;
    let height = canvas.y;
    format!(
        "<svg class=\"map\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" \
         aria-labelledby=\"{id}-t {id}-d\"><title id=\"{id}-t\">{}</title>\
         <desc id=\"{id}-d\">{}</desc><g font-family=\"ui-monospace, SFMono-Regular, Menlo, Consolas, \
         DejaVu Sans Mono, monospace\" font-size=\"{TEXT}\" fill=\"var(--ink)\">{}</g></svg>",
        escaped(title),
        escaped(description),
        canvas.body,
    )
}

pub(super) fn swatch(state: BlockState, moved: bool) -> String {
    let block = PictureBlock {
        path: String::new(),
        label: String::new(),
        type_name: String::new(),
        offset: 0,
        size: 4,
        role: tenure_model::Role::Plain,
        state,
        moved,
        continued: false,
    };
    let mut canvas = Canvas { body: String::new(), y: 1.0, byte: 7.0 };
    canvas.shape(&block, 1.0, 24.0, 18.0);
    let look = look(&block);
    let sign = if moved { "→" } else { look.sign };
    let _ = write!(
        canvas.body,
        "<text x=\"13\" y=\"14\" text-anchor=\"middle\" font-size=\"12\" font-weight=\"700\" \
         fill=\"var(--{})\">{sign}</text>",
        look.text
    );
    format!(
        "<svg class=\"swatch\" viewBox=\"0 0 26 20\" aria-hidden=\"true\">{}</svg>",
        canvas.body
    )
}

pub(super) fn told(block: &PictureBlock) -> String {
    let bytes = prose::counted(block.size, "byte");
    if block.state == BlockState::Hole {
        return format!("hole at {}, {bytes}", block.offset);
    }
    let rest = if block.continued { ", the rest of it" } else { "" };
    let of = if block.type_name.is_empty() { "" } else { ": " };
    let PictureBlock { path, type_name, offset, .. } = block;
    let mut told = format!("{path}{of}{type_name} at {offset}, {bytes}{rest}");
    for word in says(block) {
        told += ", ";
        told += word;
    }
    told
}

pub(super) fn says(block: &PictureBlock) -> impl Iterator<Item = &'static str> {
    let state = match block.state {
        BlockState::Contended | BlockState::Settled => "contended",
        BlockState::Victim => "suffers",
        BlockState::Relieved => "suffers no longer",
        _ => "",
    };
    let moved = if block.moved { "moves" } else { "" };
    [block.role.name(), state, moved].into_iter().filter(|word| !word.is_empty())
}

struct Canvas {
    body: String,
    y: f64,
    byte: f64,
}

impl Canvas {
    fn ruler(&mut self, line_bytes: u64) {
        for byte in (0..line_bytes).step_by(8) {
            let x = LEFT + bytes(byte) * self.byte + 2.0;
            self.text(x, 12.0, "muted", "start", &format!("+{byte}"));
        }
        self.y = RULER;
    }

    fn gap(&mut self, words: &str) {
        let words = format!("⋮ {}", fitted(words, 130, 1).concat());
        self.text(LEFT + 2.0, self.y + 16.0, "muted", "start", &words);
        self.y += OMITTED;
    }

    fn line(&mut self, offset: u64, blocks: &[PictureBlock], groups: &[EmbedGroup]) {
        if !groups.is_empty() {
            for group in groups {
                self.bracket(offset, group);
            }
            self.y += BRACKET;
        }
        let middle = self.y + CELL / 2.0 + TEXT / 3.0;
        self.text(LEFT - 8.0, middle, "ink", "end", &offset.to_string());
        for block in blocks {
            self.cell(offset, block);
        }
        self.y += CELL + GAP;
    }

    /// Draws a bracket over the members of an embedded struct, open at an end where the struct goes on.
    fn bracket(&mut self, offset: u64, group: &EmbedGroup) {
        let x = |at: u64| LEFT + bytes(at.saturating_sub(offset)) * self.byte;
        let (from, to) = (x(group.from) + 1.0, x(group.to) - 1.0);
        let (top, foot) = (self.y + 7.0, self.y + BRACKET - 3.0);
        let start = if group.opens {
            format!("M{from:.1} {foot}V{top}")
        } else {
            format!("M{from:.1} {top}")
        };
        let end = if group.closes { format!("V{foot}") } else { String::new() };
        let _ = write!(
            self.body,
            "<path d=\"{start}H{to:.1}{end}\" fill=\"none\" stroke=\"var(--plain)\"/>"
        );
        let columns = letters(to - from - 16.0);
        let name = fitted(&group.name, columns, 1).concat();
        if name.chars().count() < 2 && group.name.chars().count() > 1 {
            return;
        }
        // The line does not run through the name.
        let width = pixels(&name) + 8.0;
        let _ = write!(
            self.body,
            "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{width:.1}\" height=\"14\" fill=\"var(--page)\"/>",
            from + 8.0,
            self.y
        );
        self.text(from + 12.0, self.y + 11.0, "muted", "start", &name);
    }

    fn cell(&mut self, offset: u64, block: &PictureBlock) {
        let x = LEFT + bytes(block.offset.saturating_sub(offset)) * self.byte;
        let width = (bytes(block.size) * self.byte).min(WIDTH - x);
        let _ = write!(self.body, "<g class=\"cell\"><title>{}</title>", escaped(&told(block)));
        self.shape(block, x + 1.0, width - 2.0, CELL);
        if block.state != BlockState::Hole {
            self.name(block, x, width);
        }
        self.body += "</g>";
    }

    fn shape(&mut self, block: &PictureBlock, x: f64, width: f64, height: f64) {
        let look = look(block);
        let inset = if block.moved { 1.0 } else { 0.5 };
        let (x, y) = (x + inset, self.y + inset);
        let (width, height) = ((width - 2.0 * inset).max(1.0), height - 2.0 * inset);
        let fill =
            if look.fill.is_empty() { "none".to_owned() } else { format!("var(--{})", look.fill) };
        let stroke = match block.state {
            _ if block.moved => " stroke-width=\"2\" stroke-dasharray=\"5 3\"",
            BlockState::Hole => " stroke-dasharray=\"2 3\"",
            _ => "",
        };
        let border = if look.stroke.is_empty() {
            String::new()
        } else {
            format!(" stroke=\"var(--{})\"{stroke}", look.stroke)
        };
        let _ = write!(
            self.body,
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"3\" \
             fill=\"{fill}\"{border}/>"
        );
    }

    fn name(&mut self, block: &PictureBlock, x: f64, width: f64) {
        let look = look(block);
        let arrow = if block.moved { "→" } else { "" };
        let rest = if block.continued { "…" } else { "" };
        let name = format!("{}{arrow}{rest}{}", look.sign, block.label);
        let upright = width < UPRIGHT;
        let (along, across) = if upright { (CELL, width) } else { (width, CELL) };
        let most = if upright { lines(across - 2.0) } else { lines(across - 8.0) };
        let lines = fitted(&name, letters(along - 4.0), most.max(1));
        let (middle_x, middle_y) = (x + width / 2.0, self.y + CELL / 2.0);
        let turn = if upright {
            format!(" transform=\"rotate(-90 {middle_x:.1} {middle_y:.1})\"")
        } else {
            String::new()
        };
        let weight = if matches!(block.state, BlockState::Contended | BlockState::Settled) {
            " font-weight=\"700\""
        } else {
            ""
        };
        let ink = if look.text == "ink" {
            String::new()
        } else {
            format!(" fill=\"var(--{})\"", look.text)
        };
        let _ = write!(self.body, "<text text-anchor=\"middle\"{ink}{weight}{turn}");
        #[allow(clippy::cast_precision_loss)] // A cell has a few lines.
        let first = middle_y + TEXT * 0.36 - LEADING * (lines.len() as f64 - 1.0) / 2.0;
        match lines.as_slice() {
            [only] => {
                let _ =
                    write!(self.body, " x=\"{middle_x:.0}\" y=\"{first:.0}\">{}", escaped(only));
            }
            lines => {
                self.body.push('>');
                for (line, index) in lines.iter().zip(0_u8..) {
                    let y = first + LEADING * f64::from(index);
                    let _ = write!(
                        self.body,
                        "<tspan x=\"{middle_x:.0}\" y=\"{y:.0}\">{}</tspan>",
                        escaped(line)
                    );
                }
            }
        }
        self.body += "</text>";
    }

    fn text(&mut self, x: f64, y: f64, colour: &str, anchor: &str, text: &str) {
        let anchor =
            if anchor == "start" { String::new() } else { format!(" text-anchor=\"{anchor}\"") };
        let _ = write!(
            self.body,
            "<text x=\"{x:.1}\" y=\"{y:.1}\" fill=\"var(--{colour})\"{anchor}>{}</text>",
            escaped(text)
        );
    }
}

fn letters(pixels: f64) -> usize {
    fits(pixels / LETTER)
}

fn lines(pixels: f64) -> usize {
    fits(pixels / LEADING)
}

// A cell is at most as wide as a line.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn fits(count: f64) -> usize {
    count.clamp(0.0, 1000.0) as usize
}

#[allow(clippy::cast_precision_loss)] // It fits into a bracket.
fn pixels(text: &str) -> f64 {
    text.chars().count() as f64 * LETTER
}

#[allow(clippy::cast_precision_loss)] // Lines have tens of bytes.
fn bytes(count: u64) -> f64 {
    count as f64
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// A name in at most `lines` lines of `columns` letters each, broken after `_`, `.`, `:` and spaces where it can be;
/// what does not fit ends in `…`.
pub(super) fn fitted(name: &str, columns: usize, lines: usize) -> Vec<String> {
    if columns == 0 || lines == 0 {
        return Vec::new();
    }
    let mut broken: Vec<String> = vec![String::new()];
    let mut taken = 0;
    for part in parts(name) {
        let length = part.chars().count();
        if taken > 0 && taken + length > columns && length <= columns {
            broken.push(String::new());
            taken = 0;
        }
        for letter in part.chars() {
            if taken == columns {
                broken.push(String::new());
                taken = 0;
            }
            if let Some(last) = broken.last_mut() {
                last.push(letter);
            }
            taken += 1;
        }
        if broken.len() > lines {
            break;
        }
    }
    if broken.len() > lines {
        broken.truncate(lines);
        if let Some(last) = broken.last_mut() {
            *last = last.chars().take(columns - 1).chain(['…']).collect();
        }
    }
    broken.iter().map(|line| line.trim().to_owned()).collect()
}

/// The parts of a name, each with what ends it.
fn parts(name: &str) -> impl Iterator<Item = &str> {
    let mut rest = name;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        // A name may begin with some of them.
        let start = rest.find(|each| !ends(each)).unwrap_or(rest.len());
        let end = rest[start..].find(ends).map_or(rest.len(), |at| {
            let at = start + at;
            at + rest[at..]
                .chars()
                .take_while(|each| ends(*each))
                .map(char::len_utf8)
                .sum::<usize>()
        });
        let (part, left) = rest.split_at(end);
        rest = left;
        Some(part)
    })
}

fn ends(letter: char) -> bool {
    matches!(letter, '_' | '.' | ':' | ' ' | '|' | ',')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_fits_is_left_alone() {
        assert_eq!(fitted("dev", 8, 3), ["dev"]);
        assert_eq!(fitted("__refcnt", 8, 3), ["__refcnt"]);
    }

    #[test]
    fn a_name_is_broken_where_it_has_a_joint() {
        assert_eq!(fitted("rt_uses_gateway", 8, 3), ["rt_uses_", "gateway"]);
        assert_eq!(fitted("callback_head", 20, 3), ["callback_head"]);
        assert_eq!(fitted("ndisc::ops", 7, 3), ["ndisc::", "ops"]);
    }

    #[test]
    fn a_part_longer_than_a_line_is_broken_anywhere_and_too_much_is_cut() {
        assert_eq!(fitted("obsolete", 3, 3), ["obs", "ole", "te"]);
        assert_eq!(fitted("header_length_of_all", 6, 2), ["header", "_leng…"]);
        assert_eq!(fitted("abc", 1, 1), ["…"]);
        assert!(fitted("abc", 0, 1).is_empty());
    }
}
