use super::{ALWAYS, CurveCell, CurvePoint, CurveScenario, Measure, Show, Tone};
use crate::grid::{self, aligned};
use crate::numbers;
use crate::terminal::Style;
use comfy_table as comfy;
use serde::Serialize;

/// Lines under headings, in sections.
#[derive(Debug, Clone, Default, Serialize)]
pub struct TextTable {
    /// Caption on a page.
    pub caption: String,
    /// The first column's heading.
    pub corner: String,
    /// The other columns.
    pub columns: Vec<Column>,
    /// Its lines.
    pub sections: Vec<TableSection>,
    /// If a page folds it away: what can be unfolded.
    pub folded: String,
    /// The only format that shows it, if not both.
    #[serde(skip)]
    pub only: Option<Only>,
}

/// A format that shows a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Only {
    /// A terminal.
    Terminal,
    /// A page.
    Page,
}

/// A column.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Column {
    /// Its heading.
    pub heading: String,
    /// Whether it holds text.
    pub is_text: bool,
    has_interval: bool,
    #[serde(skip)]
    steps: u8,
    #[serde(skip)]
    interval_steps: u8,
}

impl Column {
    /// A column that is always shown.
    #[must_use]
    pub fn new(heading: impl Into<String>) -> Self {
        Self { heading: heading.into(), steps: ALWAYS, ..Self::default() }
    }

    /// A column of text.
    #[must_use]
    pub fn text(heading: impl Into<String>) -> Self {
        Self { is_text: true, ..Self::new(heading) }
    }

    /// Drops the column from a terminal that is more than `steps` too narrow.
    #[must_use]
    pub fn for_steps(self, steps: u8) -> Self {
        Self { steps, ..self }
    }

    fn of(measure: &Measure) -> Self {
        Self {
            has_interval: measure.interval.is_some(),
            interval_steps: measure.interval.unwrap_or(0),
            ..Self::new(&measure.heading).for_steps(measure.steps)
        }
    }
}

/// Lines that belong together.
#[derive(Debug, Clone, Default, Serialize)]
pub struct TableSection {
    /// What they have in common.
    pub title: String,
    /// A note beside the title.
    pub note: String,
    /// The lines.
    pub lines: Vec<TableLine>,
}

/// A line of a table.
#[derive(Debug, Clone, Default, Serialize)]
pub struct TableLine {
    /// Its first cell.
    pub name: String,
    /// `baseline` or `limit`.
    pub mark: &'static str,
    /// The others.
    pub cells: Vec<Shown>,
}

impl TableLine {
    /// A line of texts.
    #[must_use]
    pub fn of(name: impl Into<String>, cells: impl IntoIterator<Item = String>) -> Self {
        let cells = cells.into_iter().map(Shown::from).collect();
        Self { name: name.into(), mark: "", cells }
    }
}

/// A cell as text.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Shown {
    figure: String,
    interval: String,
    tone: Tone,
    /// A terminal's text for an empty cell.
    #[serde(skip)]
    instead: &'static str,
    #[serde(skip)]
    is_ratio: bool,
}

impl From<String> for Shown {
    fn from(figure: String) -> Self {
        Self { figure, ..Self::default() }
    }
}

impl Shown {
    /// The same text in a tone.
    #[must_use]
    pub fn toned(self, tone: Tone) -> Self {
        Self { tone, ..self }
    }

    fn of(cell: Option<&CurveCell>, show: Show, mark: &'static str) -> Self {
        let is_ratio = matches!(show, Show::Ratio | Show::Less);
        let (value, interval, tone) = match cell {
            None => return Self { instead: if is_ratio { mark } else { "" }, ..Self::default() },
            Some(CurveCell::Text(text)) => return Self::from(text.clone()),
            Some(CurveCell::Figure { value, interval, tone }) => (*value, *interval, *tone),
        };
        let judged = if is_ratio { Tone::of(value, interval) } else { tone };
        let figure = match show {
            _ if interval.is_none() && !value.is_finite() => numbers::number(value),
            Show::Number => numbers::number(value),
            Show::Whole => numbers::grouped(&format!("{value:.0}")),
            Show::Index => format!("{value:.3}"),
            _ if interval.is_some() && judged == Tone::Unresolved => "not resolved".to_owned(),
            Show::Ratio | Show::Less => format!("{}x", numbers::ratio(value)),
        };
        let digits = if is_ratio { numbers::ratio } else { numbers::number };
        let tone = match show {
            Show::Ratio if judged != Tone::Unresolved => Tone::Plain,
            _ => judged,
        };
        let interval = super::ends(interval, digits);
        Self { figure, interval, tone, instead: "", is_ratio }
    }

    fn cell(&self, interval: bool) -> comfy::Cell {
        let text = match interval && !self.interval.is_empty() {
            true => {
                format!("{}{} {}", self.figure, if self.is_ratio { " " } else { "" }, self.interval)
            }
            false if self.figure.is_empty() => self.instead.to_owned(),
            false => self.figure.clone(),
        };
        let cell = comfy::Cell::new(text);
        match self.tone {
            _ if !self.instead.is_empty() => cell.add_attribute(comfy::Attribute::Bold),
            Tone::Plain => cell,
            Tone::Faster => cell.fg(comfy::Color::DarkGreen),
            Tone::Slower => cell.fg(comfy::Color::DarkRed),
            Tone::Unresolved => cell.add_attribute(comfy::Attribute::Dim),
        }
    }
}

impl TextTable {
    /// The text, with signs of multiplication in ratios.
    pub(super) fn for_page(mut self) -> Self {
        let cells = self.sections.iter_mut().flat_map(|section| &mut section.lines);
        for shown in cells.flat_map(|line| &mut line.cells).filter(|shown| shown.is_ratio) {
            if let Some(figure) = shown.figure.strip_suffix('x') {
                shown.figure = format!("{figure}×");
            }
        }
        self
    }

    /// The table for a terminal. If that is too narrow, columns and intervals go, step by step; then the table is continued below.
    #[must_use]
    pub fn render(&self, style: Style) -> String {
        let steps = || self.columns.iter().flat_map(|it| [it.steps, it.interval_steps]);
        let last = steps().filter(|&steps| steps != ALWAYS).max().unwrap_or(0);
        let narrower = (1..=last + 1).map(|step| (step, 1));
        let continued = (2..=self.columns.len()).map(|parts| (last + 1, parts));
        let candidates = narrower.chain(continued).map(|(step, parts)| {
            let columns: Vec<usize> =
                (0..self.columns.len()).filter(|&at| self.columns[at].steps >= step).collect();
            let chunks = columns.chunks(columns.len().div_ceil(parts).max(1));
            chunks.map(|columns| self.fill(columns, step, style)).collect()
        });
        grid::fitting(candidates, style)
    }

    fn fill(&self, columns: &[usize], step: u8, style: Style) -> comfy::Table {
        let mut table = grid::table(style);
        let headings =
            columns.iter().map(|&at| (&self.columns[at].heading, !self.columns[at].is_text));
        let header = std::iter::once((&self.corner, false)).chain(headings);
        table.set_header(header.map(|(heading, right)| {
            aligned(comfy::Cell::new(heading).add_attribute(comfy::Attribute::Dim), right)
        }));
        for section in &self.sections {
            let titled = !section.title.is_empty();
            if titled {
                let title = comfy::Cell::new(&section.title).add_attribute(comfy::Attribute::Bold);
                let mut cells = vec![title];
                cells.resize(columns.len() + 1, comfy::Cell::new(""));
                table.add_row(cells);
            }
            for line in &section.lines {
                let indent = if titled { "  " } else { "" };
                let cells = columns.iter().map(|&at| {
                    let column = &self.columns[at];
                    aligned(line.cells[at].cell(column.interval_steps >= step), !column.is_text)
                });
                let name = comfy::Cell::new(format!("{indent}{}", line.name));
                table.add_row(std::iter::once(name).chain(cells));
            }
        }
        table
    }
}

impl CurveScenario {
    pub(super) fn by_point(&self, points: &[&CurvePoint], details: bool) -> TextTable {
        let rows = || points.iter().flat_map(|point| &point.rows);
        let measures: Vec<(usize, &Measure)> = (self.measures.iter().enumerate())
            .filter(|(_, measure)| details || !measure.is_detail)
            .filter(|(at, _)| Self::has_any(*at, rows()))
            .collect();
        let section = |point: &&CurvePoint| TableSection {
            title: self.axis.place(point.at),
            note: match &self.axis.beyond {
                Some(beyond) if self.axis.is_overload(point.at) => beyond.why.clone(),
                _ => String::new(),
            },
            lines: (point.rows.iter())
                .map(|row| TableLine {
                    name: row.name.clone(),
                    mark: self.mark(&row.name),
                    cells: (measures.iter())
                        .map(|(at, measure)| {
                            Shown::of(row.cells[*at].as_ref(), measure.show, self.mark(&row.name))
                        })
                        .collect(),
                })
                .collect(),
        };
        TextTable {
            corner: "variant".to_owned(),
            columns: measures.iter().map(|(_, measure)| Column::of(measure)).collect(),
            sections: points.iter().map(section).collect(),
            ..TextTable::default()
        }
    }

    fn by_measure(&self) -> TextTable {
        let most = self.points.iter().max_by_key(|point| point.rows.len());
        let names: Vec<&str> =
            most.into_iter().flat_map(|point| &point.rows).map(|row| row.name.as_str()).collect();
        let section = |(at, measure): (usize, &Measure)| {
            let cell = |point: &CurvePoint, name: &str| {
                point.rows.iter().find(|row| row.name == name)?.cells[at].clone()
            };
            let line = |name: &&str| {
                let cells: Vec<Option<CurveCell>> =
                    self.points.iter().map(|point| cell(point, name)).collect();
                let mut values = cells.iter().flatten().filter_map(CurveCell::value);
                let shown = |cell: &Option<CurveCell>| match cell {
                    None => Shown::from(numbers::number(f64::NAN)),
                    // Three significant digits are enough for a curve.
                    some => Shown::of(some.as_ref(), Show::Number, ""),
                };
                values.any(measure.is_notable).then(|| TableLine {
                    name: (*name).to_owned(),
                    mark: "",
                    cells: cells.iter().map(shown).collect(),
                })
            };
            let lines: Vec<TableLine> = names.iter().filter_map(line).collect();
            let title = measure.heading.clone();
            (!lines.is_empty()).then(|| TableSection { title, note: String::new(), lines })
        };
        let measures = self.measures.iter().enumerate().filter(|(_, measure)| measure.steps > 0);
        TextTable {
            corner: self.axis.one.to_owned() + "s",
            columns: self
                .points
                .iter()
                .map(|point| Column::new(numbers::whole(point.at)))
                .collect(),
            sections: measures.filter_map(section).collect(),
            ..TextTable::default()
        }
    }

    pub(super) fn table(&self) -> TextTable {
        if self.axis.across {
            return self.by_measure();
        }
        let mut table = self.by_point(&self.points.iter().collect::<Vec<_>>(), false);
        for (section, point) in table.sections.iter_mut().zip(&self.points) {
            section.title += if self.axis.is_overload(point.at) { " *" } else { "" };
        }
        table
    }
}
