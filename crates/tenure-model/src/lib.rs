//! The types and names that Tenure's instruments share. Without behaviour: nothing here reads a program, judges a line or prints.
//!
//! | module | subject |
//! |---|---|
//! | [`Access`], [`Ended`] | what a thread does to a word; how a program ended |
//! | [`recording`] | what threads did to cache lines, as an instrument recorded it |
//! | [`Report`], [`Finding`], [`Kind`] | what was found, and what that is called: the types of `--json`, from which its schema is generated |
//! | [`TimeSplit`], [`Answer`] | where the threads' time went; the answer in short |
//! | [`Remedy`], [`Target`] | ways to fix a line, and the place in the source that changes |
//! | [`Comparison`] | which of two programs is faster |
//! | [`FixReport`] | what became of changes that were made and measured |
//! | [`SourceEdit`] | a piece of a source file that a change replaces |
//! | [`Language`] | the language of a source |
//! | [`Progress`] | how long work tells how far it is |

pub mod recording;

mod access;
mod answer;
mod code;
mod comparison;
mod edit;
mod ended;
mod fix;
mod language;
mod progress;
mod remedy;
mod report;
mod time;

pub use access::Access;
pub use answer::{Advice, Answer, Gain, ProposedChange};
pub use code::Code;
pub use comparison::{
    Better, ComparedBenchmark, ComparedRound, ComparedSide, Comparison, ComparisonEnd,
    ComparisonVerdict, Speedup,
};
pub use edit::SourceEdit;
pub use ended::{Ended, signal_name};
pub use fix::{DependencyPatch, FixOutcome, FixReport, TriedChange};
pub use language::Language;
pub use progress::Progress;
pub use remedy::{Declaration, Remedy, Target};
pub use report::{
    Alternative, Cell, Change, Check, CodeRead, Confidence, Coverage, Curve, Difference, Elsewhere,
    Embedder, Evidence, Finding, Forecast, Kind, Level, Line, LockHeld, Means, Measured,
    MeasuredMember, MemberOf, Move, Observed, OperandShare, Origin, Point, Recorded, Repair,
    Report, Role, Run, SCHEMA, Scope, Sharing, Signal, Source, Storage, Suggestion, Suppression,
    TypeMap, Types, Unfixed, Use, Watched, Word, short_path, short_place,
};
pub use time::{TimeCause, TimeDetail, TimePart, TimeSplit};
