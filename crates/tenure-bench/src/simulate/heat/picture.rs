//! A line as a row of 64 bytes: members at their places, shaded by their waits, with names and figures below.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

use tenure_report::chart::canvas::{self, ChartArea, ChartText, Drawn, px};
use tenure_report::chart::theme::SeriesRole;
use tenure_report::words;

pub(super) struct HeatSpot {
    pub(super) offset: usize,
    pub(super) bytes: usize,
    /// Of all waits, from 0 to 1.
    pub(super) share: f64,
    pub(super) is_written: bool,
    /// Empty if another spot's label stands for this one as well.
    pub(super) label: Vec<String>,
}

const LINE_BYTES: usize = 64;
const BYTE: i32 = 7;
const SIDE: i32 = 6;
const WIDTH: i32 = 2 * SIDE + 64 * BYTE;
const TOP: i32 = 20;
const HEIGHT: i32 = 34;
const TEXT_LINE: i32 = 17;
const LEADER: i32 = 12;
const MAX_LABELS: usize = 10;
const LETTERS: usize = 30;

pub(super) fn draw(spots: &[HeatSpot], id: &str, title: &str) -> String {
    let is_named = |spot: &&HeatSpot| spot.offset < LINE_BYTES && !spot.label.is_empty();
    let mut named: Vec<&HeatSpot> = spots.iter().filter(is_named).collect();
    named.sort_by(|one, other| other.share.total_cmp(&one.share));
    named.truncate(MAX_LABELS);
    named.sort_by_key(|spot| middle(spot));
    let wanted: Vec<_> = named.iter().map(|spot| wanted(spot)).collect();
    let spreads = place(&wanted, f64::from(SIDE), f64::from(WIDTH - SIDE));
    let levels = spreads.iter().map(|spread| spread.level + 1).max().unwrap_or(0);
    let lines = named.iter().map(|spot| spot.label.len()).max().unwrap_or(0);
    let level = whole(lines) * TEXT_LINE + 8;
    let height = TOP + HEIGHT + LEADER + whole(levels) * level;
    let alternative = ChartText { id, title, description: &described(spots) };
    canvas::svg(WIDTH, height, &alternative, |area| {
        row(area)?;
        for spot in spots.iter().filter(|spot| spot.offset < LINE_BYTES) {
            cell(area, spot)?;
        }
        // Leaders first, so that labels cover them.
        let below = |spread: &Spread| TOP + HEIGHT + LEADER + whole(spread.level) * level;
        for (spot, spread) in named.iter().zip(&spreads) {
            let x = px(middle(spot));
            let ends = [(x, px(TOP + HEIGHT)), (x, px(below(spread)))];
            area.draw(&PathElement::new(ends, canvas::hair(SeriesRole::Muted)))?;
        }
        named
            .iter()
            .zip(&spreads)
            .try_for_each(|(spot, spread)| label(area, spot, spread, below(spread)))
    })
}

fn described(spots: &[HeatSpot]) -> String {
    let members: Vec<_> = spots
        .iter()
        .filter(|spot| !spot.label.is_empty())
        .take(LINE_BYTES)
        .map(|spot| {
            let bytes = words::counted(spot.bytes, "byte");
            format!("At {}, {bytes}: {}.", spot.offset, spot.label.join(", "))
        })
        .collect();
    format!("A line of 64 bytes. {}", members.join(" "))
}

/// With offsets above and a mark at every eighth byte.
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

/// Shaded by its waits, with a strong edge if it is written.
fn cell(area: &ChartArea<'_>, spot: &HeatSpot) -> Drawn {
    let (from, to) = ends(spot);
    let corners = |inner: i32| {
        [(px(from) + inner, px(TOP) + inner), (px(to) - inner, px(TOP + HEIGHT) - inner)]
    };
    area.draw(&Rectangle::new(corners(0), SeriesRole::Page.placeholder().filled()))?;
    if spot.share > 0.0 {
        // The least wait is visible.
        let opacity = ((0.1 + 0.9 * spot.share) * 100.0).round() / 100.0;
        area.draw(&Rectangle::new(
            corners(0),
            SeriesRole::Heat.placeholder().mix(opacity).filled(),
        ))?;
    }
    let style = if spot.is_written {
        canvas::line(SeriesRole::Ink)
    } else {
        canvas::hair(SeriesRole::Muted)
    };
    let [(left, top), (right, bottom)] = corners(px(1));
    let edge = [(left, top), (right, top), (right, bottom), (left, bottom), (left, top)];
    area.draw(&PathElement::new(edge, style))
}

fn label(area: &ChartArea<'_>, spot: &HeatSpot, spread: &Spread, top: i32) -> Drawn {
    let x = canvas::rounded(spread.left);
    let height = whole(spot.label.len()) * TEXT_LINE;
    area.draw(&Rectangle::new(
        [(px(x), px(top)), (px(canvas::rounded(spread.right)), px(top + height))],
        SeriesRole::Page.placeholder().filled(),
    ))?;
    for (text, line) in spot.label.iter().zip(0..) {
        let role = if line == 0 { SeriesRole::Ink } else { SeriesRole::Muted };
        let style = canvas::text(role, HPos::Left, VPos::Top);
        let at = (px(x), px(top + line * TEXT_LINE + 2));
        area.draw(&Text::new(cut(text), at, style))?;
    }
    Ok(())
}

fn wanted(spot: &HeatSpot) -> WantedLabel {
    /// Pixels, a little more than most fonts take.
    const LETTER: f64 = canvas::TEXT as f64 * 0.54;
    let letters = spot.label.iter().map(|text| cut(text).chars().count()).max().unwrap_or(0);
    WantedLabel { leader: f64::from(middle(spot)), width: f64::from(whole(letters)) * LETTER }
}

/// Cuts the middle: the end of a name, and what follows it, say more.
fn cut(text: &str) -> String {
    let letters: Vec<char> = text.chars().collect();
    if letters.len() <= LETTERS {
        return text.to_owned();
    }
    let (head, tail) = (LETTERS / 3, LETTERS - LETTERS / 3 - 1);
    let first = letters[..head].iter();
    first.chain(&['…']).chain(&letters[letters.len() - tail..]).collect()
}

/// Within the row, and wide enough to be seen.
fn ends(spot: &HeatSpot) -> (i32, i32) {
    let from = spot.offset.min(LINE_BYTES - 1);
    let to = spot.offset.saturating_add(spot.bytes).clamp(from + 1, LINE_BYTES);
    (SIDE + whole(from) * BYTE, SIDE + whole(to) * BYTE)
}

fn middle(spot: &HeatSpot) -> i32 {
    let (from, to) = ends(spot);
    i32::midpoint(from, to)
}

fn whole(count: usize) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Spread {
    left: f64,
    right: f64,
    level: usize,
}

#[derive(Debug, Clone, Copy)]
struct WantedLabel {
    leader: f64,
    width: f64,
}

/// Closer labels would be read as one.
const GAP: f64 = 10.0;

/// Places each label within `left..right`. `wanted` is ordered by leaders.
///
/// Each label takes the highest place that earlier ones leave, so order and sides matter: the best of a few ways is
/// taken.
fn place(wanted: &[WantedLabel], left: f64, right: f64) -> Vec<Spread> {
    let count = wanted.len();
    let forwards: Vec<usize> = (0..count).collect();
    let backwards: Vec<usize> = (0..count).rev().collect();
    let middle = wanted.partition_point(|label| label.leader < f64::midpoint(left, right));
    let outwards: Vec<usize> = (0..middle).rev().chain(middle..count).collect();
    let sides = [[0.0, 0.5, -0.5], [0.5, 0.0, -0.5], [-0.5, 0.0, 0.5]];
    [forwards, backwards, outwards]
        .iter()
        .flat_map(|order| sides.iter().map(move |sides| (order, sides)))
        .map(|(order, sides)| attempt(wanted, order, sides, left, right))
        .min_by_key(|(crossings, spreads)| {
            (*crossings, spreads.iter().map(|spread| spread.level).sum::<usize>())
        })
        .map_or(Vec::new(), |(_, spreads)| spreads)
}

/// In `order`, each on the first of `sides` that is free. Returns how many labels had to cross leaders, and the places.
fn attempt(
    wanted: &[WantedLabel],
    order: &[usize],
    sides: &[f64; 3],
    left: f64,
    right: f64,
) -> (usize, Vec<Spread>) {
    let mut placed: Vec<(usize, Spread)> = Vec::new();
    let mut crossings = 0;
    for &index in order {
        let label = wanted[index];
        let free = |spread: &Spread| {
            placed.iter().all(|&(other, there)| fits((label, *spread), (wanted[other], there)))
        };
        let spread = candidates(label, sides, left, right, placed.len() + 1).find(free);
        let spread = spread.unwrap_or_else(|| {
            crossings += 1;
            let level = placed.iter().map(|(_, spread)| spread.level + 1).max().unwrap_or(0);
            Spread { level, ..beside(label, 0.0, left, right) }
        });
        placed.push((index, spread));
    }
    placed.sort_by_key(|(index, _)| *index);
    (crossings, placed.into_iter().map(|(_, spread)| spread).collect())
}

/// Best first. All of them meet the label's leader.
fn candidates(
    label: WantedLabel,
    sides: &[f64; 3],
    left: f64,
    right: f64,
    levels: usize,
) -> impl Iterator<Item = Spread> {
    (0..levels).flat_map(move |level| {
        sides.iter().map(move |&side| Spread { level, ..beside(label, side, left, right) })
    })
}

/// `side` goes from 0.5, the side of the middle, to -0.5, as far as there is room.
fn beside(label: WantedLabel, side: f64, left: f64, right: f64) -> Spread {
    let side = if label.leader < f64::midpoint(left, right) { side } else { -side };
    let wished = label.leader + (side - 0.5) * label.width;
    let at = wished.min(right - label.width).max(left);
    Spread { left: at, right: at + label.width, level: 0 }
}

fn fits((one, a): (WantedLabel, Spread), (other, b): (WantedLabel, Spread)) -> bool {
    let crosses = |leader: f64, over: Spread| {
        leader > over.left - GAP / 4.0 && leader < over.right + GAP / 4.0
    };
    match a.level.cmp(&b.level) {
        std::cmp::Ordering::Equal => a.right + GAP <= b.left || b.right + GAP <= a.left,
        std::cmp::Ordering::Less => !crosses(other.leader, a),
        std::cmp::Ordering::Greater => !crosses(one.leader, b),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spot(offset: usize, bytes: usize) -> HeatSpot {
        let label = vec!["refs, written".to_owned()];
        HeatSpot { offset, bytes, share: 0.5, is_written: true, label }
    }

    #[test]
    fn a_member_is_drawn_at_its_place_and_not_beyond_the_line() {
        assert_eq!(ends(&spot(0, 64)), (SIDE, WIDTH - SIDE));
        assert_eq!(ends(&spot(16, 8)), (SIDE + 16 * BYTE, SIDE + 24 * BYTE));
        assert_eq!(ends(&spot(60, 8)).1, WIDTH - SIDE);
        assert_eq!(ends(&spot(63, 0)), (WIDTH - SIDE - BYTE, WIDTH - SIDE));
        assert_eq!(ends(&spot(1, usize::MAX)).1, WIDTH - SIDE);
    }

    #[test]
    fn a_long_label_keeps_its_end() {
        assert_eq!(cut("refs, written"), "refs, written");
        let long = cut(&format!("{}, only read", "x".repeat(100)));
        assert_eq!(long.chars().count(), LETTERS);
        assert!(long.ends_with(", only read"));
    }

    #[test]
    fn the_picture_says_in_words_what_is_where() {
        let svg = draw(&[spot(16, 8)], "a", "shared: line 1");
        assert!(svg.contains("At 16, 8 bytes: refs, written."), "{svg}");
    }

    fn labels(of: &[(f64, f64)]) -> Vec<Spread> {
        let wanted: Vec<_> =
            of.iter().map(|&(leader, width)| WantedLabel { leader, width }).collect();
        place(&wanted, 0.0, 450.0)
    }

    #[test]
    fn labels_with_room_are_all_on_the_first_level_below_their_cells() {
        let placed = labels(&[(14.0, 100.0), (200.0, 100.0), (440.0, 100.0)]);
        assert!(placed.iter().all(|label| label.level == 0));
        assert_eq!(placed[0].left, 0.0, "not beyond the edge");
        assert_eq!(placed[1].left, 150.0);
        assert_eq!(placed[2].right, 450.0);
    }

    #[test]
    fn neighbours_stand_aside_or_step_down_and_no_leader_goes_through_a_name() {
        let of = [(14.0, 140.0), (42.0, 140.0), (70.0, 140.0), (98.0, 140.0), (420.0, 140.0)];
        no_names_cross(&of);
        let mirrored: Vec<_> = of.iter().rev().map(|(at, width)| (450.0 - at, *width)).collect();
        no_names_cross(&mirrored);
        no_names_cross(&[(14.0, 140.0), (42.0, 140.0), (400.0, 140.0), (440.0, 140.0)]);
    }

    fn no_names_cross(of: &[(f64, f64)]) {
        let placed = labels(of);
        for (index, (a, one)) in placed.iter().zip(of).enumerate() {
            for (b, other) in placed.iter().zip(of).skip(index + 1) {
                if a.level == b.level {
                    assert!(a.right < b.left || b.right < a.left, "{placed:?}");
                }
                let (higher, deeper) = if a.level < b.level { (a, other.0) } else { (b, one.0) };
                if a.level != b.level {
                    assert!(deeper < higher.left || deeper > higher.right, "{placed:?}");
                }
            }
        }
    }

    #[test]
    fn many_labels_at_one_place_all_get_a_level() {
        let placed = labels(&[(100.0, 100.0); 9]);
        let mut levels: Vec<_> = placed.iter().map(|label| label.level).collect();
        levels.dedup();
        assert_eq!(levels.len(), 9);
    }
}
