//! Charts of variants.
//!
//! `bars` and `lines` draw, on [`canvas`]; [`theme`] has the colours and markers, `ticks` the axes, `figure` captions
//! and words; [`curves`](crate::curves) chooses a scenario's charts.

mod bars;
pub mod canvas;
mod figure;
mod lines;
pub mod theme;
mod ticks;

pub mod checks;

pub(crate) use bars::Bar;
pub use figure::{Figure, Key, KeyedFigure, LineChart};
pub(crate) use figure::{Look, bars, keys, looks};
pub use lines::{Axes, Dot};
