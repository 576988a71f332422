//! Places for names below the cells of a line: the higher the better, none across another, and none
//! across the leader from a cell to a name below.

/// A label's place: its left and right ends, and its level from the top.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Spread {
    pub(super) left: f64,
    pub(super) right: f64,
    pub(super) level: usize,
}

/// Where the leader comes down, and how wide the label is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted {
    pub(super) leader: f64,
    pub(super) width: f64,
}

/// Labels this close would be read as one.
const GAP: f64 = 10.0;

/// A place for each label within `left..right`. `wanted` is ordered by leaders.
///
/// Every label takes the highest place that those before it leave, so much depends on who comes first
/// and which side it takes. A few ways are tried and the best is kept.
pub(super) fn place(wanted: &[Wanted], left: f64, right: f64) -> Vec<Spread> {
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

/// Places labels in `order`, each on the first of `sides` that is free. How many labels are across
/// leaders because there was no other way, and the places.
fn attempt(
    wanted: &[Wanted],
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

/// The places to try, best first. All of them meet the label's leader.
fn candidates(
    label: Wanted,
    sides: &[f64; 3],
    left: f64,
    right: f64,
    levels: usize,
) -> impl Iterator<Item = Spread> {
    (0..levels).flat_map(move |level| {
        sides.iter().map(move |&side| Spread { level, ..beside(label, side, left, right) })
    })
}

/// On a side of its leader, from 0.5 for the side of the middle to -0.5, as far as there is room.
fn beside(label: Wanted, side: f64, left: f64, right: f64) -> Spread {
    let side = if label.leader < f64::midpoint(left, right) { side } else { -side };
    let wished = label.leader + (side - 0.5) * label.width;
    let at = wished.min(right - label.width).max(left);
    Spread { left: at, right: at + label.width, level: 0 }
}

/// Whether two labels and their leaders leave each other alone.
fn fits((one, a): (Wanted, Spread), (other, b): (Wanted, Spread)) -> bool {
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

    fn labels(of: &[(f64, f64)]) -> Vec<Spread> {
        let wanted: Vec<_> = of.iter().map(|&(leader, width)| Wanted { leader, width }).collect();
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
