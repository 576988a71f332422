//! Sizes of cells, and which of them an item takes.

pub(crate) const BLOCK: usize = 64 << 10;

pub(super) const HEAD: usize = 192;

const USABLE: usize = BLOCK - HEAD;

/// Divides all sizes: the cells' alignment.
const STEP: usize = 16;

const SMALLEST: usize = 96;

pub(super) const MOST_CELLS: usize = USABLE / SMALLEST;

/// Each size an eighth larger than the last, and the largest with as many cells in a block. Returns how many there are.
const fn fill(sizes: &mut [usize]) -> usize {
    let (mut count, mut least) = (0, SMALLEST);
    loop {
        let cells = USABLE / least;
        let size = USABLE / cells / STEP * STEP;
        if count < sizes.len() {
            sizes[count] = size;
        }
        count += 1;
        if cells == 1 {
            return count;
        }
        let eighth = (size + size / 8) / STEP * STEP;
        least = if eighth > size { eighth } else { size + STEP };
    }
}

pub(crate) const CLASSES: usize = fill(&mut []);

pub(super) const SIZES: [usize; CLASSES] = {
    let mut sizes = [0; CLASSES];
    fill(&mut sizes);
    sizes
};

pub(super) const fn cells(class: usize) -> usize {
    USABLE / SIZES[class]
}

/// The class with four cells in a block: the largest for an item's last bytes. Larger cells are used in full, so that
/// no item takes an eighth more than its length.
const QUARTER: usize = {
    let mut class = 0;
    while cells(class) > 4 {
        class += 1;
    }
    class
};

/// The smallest class for a number of steps.
const CLASS_OF: [u8; SIZES[QUARTER] / STEP + 1] = {
    let mut table = [0; SIZES[QUARTER] / STEP + 1];
    let mut steps = 0;
    let mut class = 0;
    while steps < table.len() {
        if SIZES[class] < steps * STEP {
            class += 1;
        }
        table[steps] = class as u8;
        steps += 1;
    }
    table
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) class: usize,
    pub(crate) text: usize,
}

/// An item's cells: full ones as large as possible, then one for the rest.
#[derive(Debug, Clone)]
pub(crate) struct Pieces {
    left: usize,
    /// Before the text in the next cell.
    before: usize,
    /// The same in later cells.
    then: usize,
}

impl Pieces {
    /// The cells for `text` bytes, with `first` others before them in the first, and `then` in each later one.
    #[inline]
    pub(crate) fn new(text: usize, first: usize, then: usize) -> Self {
        Self { left: text, before: first, then }
    }
}

impl Iterator for Pieces {
    type Item = Piece;

    #[inline]
    fn next(&mut self) -> Option<Piece> {
        if self.left == 0 {
            return None;
        }
        let bytes = self.before + self.left;
        let (class, text) = if bytes <= SIZES[QUARTER] {
            (CLASS_OF[bytes.div_ceil(STEP)].into(), self.left)
        } else {
            let class = (QUARTER..CLASSES).rev().find(|class| SIZES[*class] <= bytes)?;
            (class, SIZES[class] - self.before)
        };
        self.left -= text;
        self.before = self.then;
        Some(Piece { class, text })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_grow_by_an_eighth_and_fill_their_block() {
        assert_eq!((SIZES[0], cells(0)), (SMALLEST, MOST_CELLS));
        assert_eq!((cells(QUARTER), cells(CLASSES - 1)), (4, 1));
        for class in 1..CLASSES {
            let (less, size) = (SIZES[class - 1], SIZES[class]);
            assert!(size > less && size.is_multiple_of(STEP));
            assert!(
                class > QUARTER || size <= less + (less / 8).max(STEP) + less / 6,
                "{less} {size}"
            );
            assert!(USABLE - cells(class) * size < size.min(cells(class) * STEP + STEP));
        }
    }

    #[test]
    fn an_item_takes_at_most_a_quarter_more_than_its_length_and_no_byte_twice() {
        for text in (200..200_000).step_by(7).chain([1 << 20, 1 << 30]) {
            let pieces = Pieces::new(text, 64, 16);
            assert_eq!(pieces.clone().map(|piece| piece.text).sum::<usize>(), text);
            let size: usize = pieces.clone().map(|piece| SIZES[piece.class]).sum();
            let needed = text + 64 + 16 * (pieces.clone().count() - 1);
            assert!(
                size >= needed && size <= needed + (needed / 4 + STEP).min(4096),
                "{text} in {size}"
            );
            let first = pieces.clone().next().unwrap();
            assert!(first.text == text || first.text > 16_000);
        }
    }
}
