//! A line as a row of 64 bytes: members at their places, shaded by their waits, and numbered as in the list below it.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

use tenure_report::chart::canvas::{self, ChartArea, ChartText, Drawn, px};
use tenure_report::chart::theme::SeriesRole;
use tenure_report::numbers;

pub(super) struct HeatSpot {
    pub(super) offset: usize,
    pub(super) bytes: usize,
    /// Share of all waits, from 0 to 1.
    pub(super) share: f64,
    pub(super) is_written: bool,
    /// Index of its label: members of one name have the same.
    pub(super) label: usize,
}

const LINE_BYTES: usize = 64;
const BYTE: i32 = 7;
const SIDE: i32 = 6;
const WIDTH: i32 = 2 * SIDE + 64 * BYTE;
const TOP: i32 = 20;
const HEIGHT: i32 = 34;
const NUMBERS: i32 = 20;

pub(super) fn draw(spots: &[HeatSpot], labels: &[String], id: &str, title: &str) -> String {
    let text = ChartText { id, title, description: &described(spots, labels) };
    canvas::svg(WIDTH, TOP + HEIGHT + NUMBERS, &text, |area| {
        row(area)?;
        let number = canvas::text(SeriesRole::Ink, HPos::Center, VPos::Top);
        for spot in spots.iter().filter(|spot| spot.offset < LINE_BYTES) {
            cell(area, spot)?;
            let (from, to) = ends(spot);
            let at = (px(i32::midpoint(from, to)), px(TOP + HEIGHT + 3));
            area.draw(&Text::new((spot.label + 1).to_string(), at, number.clone()))?;
        }
        Ok(())
    })
}

fn described(spots: &[HeatSpot], labels: &[String]) -> String {
    let members: Vec<_> = spots
        .iter()
        .take(LINE_BYTES)
        .map(|spot| {
            let bytes = numbers::counted(spot.bytes, "byte");
            format!("At {}, {bytes}: {}.", spot.offset, labels[spot.label])
        })
        .collect();
    format!("A line of 64 bytes. {}", members.join(" "))
}

/// The empty row, with offsets above and a mark at every eighth byte.
fn row(area: &ChartArea<'_>) -> Drawn {
    let offset = canvas::text(SeriesRole::Muted, HPos::Left, VPos::Top);
    let (top, bottom) = (px(TOP), px(TOP + HEIGHT));
    area.draw(&Rectangle::new(
        [(px(SIDE), top), (px(WIDTH - SIDE), bottom)],
        SeriesRole::Band.placeholder().filled(),
    ))?;
    for at in (0..LINE_BYTES).step_by(8) {
        let x = px(SIDE + whole(at) * BYTE);
        if at > 0 {
            area.draw(&PathElement::new([(x, top), (x, bottom)], canvas::hair(SeriesRole::Grid)))?;
        }
        area.draw(&Text::new(at.to_string(), (x, px(1)), offset.clone()))?;
    }
    Ok(())
}

/// A member, shaded by its waits, with a strong edge if it is written.
fn cell(area: &ChartArea<'_>, spot: &HeatSpot) -> Drawn {
    let (from, to) = ends(spot);
    let corners = |inner: i32| {
        [(px(from) + inner, px(TOP) + inner), (px(to) - inner, px(TOP + HEIGHT) - inner)]
    };
    area.draw(&Rectangle::new(corners(0), SeriesRole::Page.placeholder().filled()))?;
    if spot.share > 0.0 {
        // The least wait is visible.
        let opacity = ((0.1 + 0.9 * spot.share) * 100.0).round() / 100.0;
        let heat = SeriesRole::Heat.placeholder().mix(opacity);
        area.draw(&Rectangle::new(corners(0), heat.filled()))?;
    }
    let style = match spot.is_written {
        true => canvas::line(SeriesRole::Ink),
        false => canvas::hair(SeriesRole::Muted),
    };
    let [(left, top), (right, bottom)] = corners(px(1));
    let edge = [(left, top), (right, top), (right, bottom), (left, bottom), (left, top)];
    area.draw(&PathElement::new(edge, style))
}

/// Left and right edge in pixels: within the row, and wide enough to be seen.
fn ends(spot: &HeatSpot) -> (i32, i32) {
    let from = spot.offset.min(LINE_BYTES - 1);
    let to = spot.offset.saturating_add(spot.bytes).clamp(from + 1, LINE_BYTES);
    (SIDE + whole(from) * BYTE, SIDE + whole(to) * BYTE)
}

fn whole(count: usize) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spot(offset: usize, bytes: usize) -> HeatSpot {
        HeatSpot { offset, bytes, share: 0.5, is_written: true, label: 0 }
    }

    #[test]
    fn a_member_is_drawn_at_its_place_and_not_beyond_the_line() {
        for (offset, bytes, expected) in [
            (0, 64, (SIDE, WIDTH - SIDE)),
            (16, 8, (SIDE + 16 * BYTE, SIDE + 24 * BYTE)),
            (60, 8, (SIDE + 60 * BYTE, WIDTH - SIDE)),
            (63, 0, (WIDTH - SIDE - BYTE, WIDTH - SIDE)),
            (1, usize::MAX, (SIDE + BYTE, WIDTH - SIDE)),
        ] {
            assert_eq!(ends(&spot(offset, bytes)), expected, "{offset} {bytes}");
        }
    }

    #[test]
    fn the_picture_says_in_words_what_is_where() {
        let labels = ["refs, written".to_owned()];
        let svg = draw(&[spot(16, 8)], &labels, "a", "shared: line 1");
        assert!(svg.contains("At 16, 8 bytes: refs, written."), "{svg}");
    }
}
