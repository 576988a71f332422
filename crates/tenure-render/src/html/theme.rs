//! The colours of line maps.
//!
//! Each state has a strong colour (borders, signs) and most a pale one to fill a cell with, on which the
//! page's ink stays readable. No state is shown by its colour alone: each has a sign.

use tenure_report::html::Colour;

use crate::picture::{BlockState, PictureBlock};

/// What maps and checks need beside the colours of every page.
pub(super) const COLOURS: [Colour; 12] = [
    Colour::new("contended", "#a8200d", "#ff9a86"),
    Colour::new("victim", "#855300", "#f2b632"),
    Colour::new("relieved", "#00693e", "#58c993"),
    Colour::new("read-mostly", "#0059a8", "#7cbcf5"),
    Colour::new("moved", "#7636ad", "#cfa8fa"),
    Colour::new("plain", "#7f878f", "#7f8891"),
    Colour::new("on-contended", "#ffffff", "#14181d"),
    Colour::new("pale-contended", "#fbe3df", "#4a1d16"),
    Colour::new("pale-victim", "#ffe6ad", "#4d3800"),
    Colour::new("pale-relieved", "#cdf0dd", "#0d402a"),
    Colour::new("pale-read-mostly", "#d8eafb", "#12344f"),
    Colour::new("cell", "#f0f2f5", "#262d35"),
];

#[derive(Debug, Clone, Copy)]
pub(super) struct CellStyle {
    /// The colour inside; empty for none.
    pub(super) fill: &'static str,
    pub(super) stroke: &'static str,
    pub(super) text: &'static str,
    pub(super) sign: &'static str,
}

pub(super) fn look(block: &PictureBlock) -> CellStyle {
    let look = |fill, stroke, text, sign| CellStyle { fill, stroke, text, sign };
    let found = match block.state {
        BlockState::Contended => look("contended", "", "on-contended", "!"),
        BlockState::Settled => look("pale-contended", "contended", "ink", "!"),
        BlockState::Victim => look("pale-victim", "victim", "ink", "*"),
        BlockState::Relieved => look("pale-relieved", "relieved", "ink", "✓"),
        BlockState::ReadMostly => look("pale-read-mostly", "read-mostly", "ink", "="),
        BlockState::Cold => look("page", "plain", "muted", "~"),
        BlockState::Hole => look("", "plain", "muted", ""),
        BlockState::Plain => look("cell", "", "ink", ""),
    };
    if block.moved { CellStyle { stroke: "moved", ..found } } else { found }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenure_report::html::BASE;

    fn named(name: &str) -> Colour {
        *BASE.iter().chain(&COLOURS).find(|colour| colour.name == name).unwrap()
    }

    #[test]
    fn strong_colours_have_the_contrast_of_text_with_the_page() {
        for colour in &COLOURS[..5] {
            assert!(colour.least_contrast() >= 4.5, "{}", colour.name);
        }
        assert!(named("plain").least_contrast() >= 3.0);
    }

    #[test]
    fn text_on_cells_has_the_contrast_of_aa() {
        for (text, fill) in [
            ("on-contended", "contended"),
            ("ink", "pale-contended"),
            ("ink", "pale-victim"),
            ("ink", "pale-relieved"),
            ("ink", "pale-read-mostly"),
            ("ink", "cell"),
            ("muted", "page"),
        ] {
            let contrast = named(text).contrast(&named(fill));
            assert!(contrast >= 4.5, "{text} on {fill}: {contrast:.2}");
        }
    }

    #[test]
    fn borders_stand_out_from_what_they_surround() {
        for (stroke, fill) in [
            ("contended", "pale-contended"),
            ("victim", "pale-victim"),
            ("relieved", "pale-relieved"),
            ("read-mostly", "pale-read-mostly"),
        ] {
            assert!(named(stroke).contrast(&named(fill)) >= 3.0, "{stroke}");
        }
    }
}
