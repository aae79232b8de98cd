//! A panel as a picture: curves, stacked bars, bars side by side, or a table.

use super::sheet::{self, Drawn, FAINT, GREY, INK, PALETTE, Sheet, Side, Spot};
use crate::numbers::{brief, grouped};
use crate::report::EngineReport;
use crate::reproduce::plan::{Chart, Panel, Point, Series};
use crate::reproduce::results::{At, Results, Summary, median};
use plotters::style::RGBColor;

const WIDTH: i32 = 520;
const MARGIN: i32 = 14;
const TITLE: i32 = 22;
/// The edges of the plot of curves, and the space below it.
const LEFT: i32 = 62;
const RIGHT: i32 = WIDTH - 18;
const TOP: i32 = 56;
const BOTTOM: i32 = TOP + 220;
const BELOW: i32 = 56;
/// The ends of the bars, which leave room for names on the left and for throughputs on the right, and their height.
const BARS_LEFT: i32 = 118;
const BARS_RIGHT: i32 = WIDTH - 82;
const BAR: i32 = 26;
/// The height of a table's row, and the space on the left for the names of its series.
const TABLE_ROW: i32 = 34;
const TABLE_LEFT: i32 = 110;
/// The height of the legend's rows, and the number of its columns.
const LEGEND_ROW: i32 = 20;
const LEGEND_COLUMNS: usize = 3;
/// The least distance between two labels of an axis.
const LABEL_GAP: i32 = 36;

/// Draws one panel of a figure, as far as it was measured. Returns the SVG.
pub(crate) fn draw(results: &Results, panel: usize) -> Result<String, String> {
    let shown = &results.plan.panels[panel];
    let legend = shown.series.len().div_ceil(LEGEND_COLUMNS) as i32 * LEGEND_ROW;
    match results.plan.chart {
        Chart::Curves { .. } | Chart::CurvesOver { .. } => {
            let x = results.plan.chart.x(panel);
            let height = BOTTOM + BELOW + legend + MARGIN / 2;
            sheet::draw((WIDTH, height), |sheet| Curves { sheet, results, number: panel, panel: shown }.draw(x))
        }
        Chart::Bars { .. } | Chart::LockBars { .. } => {
            let beside = match results.plan.chart {
                Chart::LockBars { .. } => Beside::Locks,
                _ => Beside::Throughput,
            };
            let height = TOP + BAR * shown.points.len() as i32 + legend + 2 * MARGIN;
            sheet::draw((WIDTH, height), |sheet| Bars { sheet, results, number: panel, panel: shown, beside }.draw())
        }
        Chart::Ratios { .. } => {
            let height = TOP + ratios_height(shown) * shown.points.len() as i32 + legend + 2 * MARGIN;
            sheet::draw((WIDTH, height), |sheet| Ratios { sheet, results, panel: shown }.draw())
        }
        Chart::Table { .. } => {
            let height = TOP + TABLE_ROW * (shown.series.len() as i32 + 1) + MARGIN;
            sheet::draw((WIDTH, height), |sheet| Table { sheet, results, number: panel, panel: shown }.draw())
        }
    }
}

/// Returns the colour of a series: its own, or grey if the series is there only to compare with.
fn color(panel: &Panel, number: usize) -> RGBColor {
    if panel.series[number].is_reference { GREY } else { PALETTE[number % PALETTE.len()] }
}

/// Draws the names of a panel's series below `top`. `key` draws the line or the bar beside each name.
fn legend<'b>(sheet: &Sheet<'_, 'b>, panel: &Panel, top: i32, key: impl Fn(usize, Spot) -> Drawn<'b>) -> Drawn<'b> {
    let column_width = (WIDTH - 2 * MARGIN) / LEGEND_COLUMNS as i32;
    for (number, series) in panel.series.iter().enumerate() {
        let x = MARGIN + (number % LEGEND_COLUMNS) as i32 * column_width;
        let y = top + (number / LEGEND_COLUMNS) as i32 * LEGEND_ROW + LEGEND_ROW / 2;
        key(number, (x, y))?;
        sheet.text(series.name, (x + 30, y), 12, Side::Left)?;
    }
    Ok(())
}

struct Curves<'a, 'b, 'c> {
    sheet: &'a Sheet<'b, 'c>,
    results: &'a Results,
    number: usize,
    panel: &'a Panel,
}

impl<'c> Curves<'_, '_, 'c> {
    fn draw(&self, x_title: &str) -> Drawn<'c> {
        self.sheet.text(&format!("({}) {}", self.panel.id, self.panel.title), (MARGIN, TITLE), 14, Side::Left)?;
        self.sheet.text(self.results.plan.value, (MARGIN, TOP - 14), 11, Side::Left)?;
        let all = self.panel.series.iter().flat_map(|series| self.summaries(series));
        let y = YAxis::up_to(all.map(|(_, summary)| summary.max).fold(0.0, f64::max));
        self.y_axis(&y)?;
        let x = XAxis::over(self.panel);
        self.x_axis(&x, x_title)?;
        for (number, series) in self.panel.series.iter().enumerate() {
            self.curve(number, series, &x, &y)?;
        }
        legend(self.sheet, self.panel, BOTTOM + BELOW, |number, (x, y)| {
            self.stroke(number, vec![(x, y), (x + 24, y)])?;
            self.mark(number, (x + 12, y))
        })
    }

    /// Returns the measured points of a series.
    fn summaries(&self, series: &Series) -> Vec<(usize, Summary)> {
        let summary = |point| Some((point, self.results.summary(self.number, point, series)?));
        (0..self.panel.points.len()).filter_map(summary).collect()
    }

    fn curve(&self, number: usize, series: &Series, x: &XAxis, y: &YAxis) -> Drawn<'c> {
        let summaries = self.summaries(series);
        let place = |point: usize, value: f64| (x.place(self.panel.points[point].x), y.place(value));
        self.stroke(number, summaries.iter().map(|(point, summary)| place(*point, summary.median)).collect())?;
        for (point, summary) in summaries {
            let ends = [summary.min, summary.max].map(|value| place(point, value));
            self.sheet.line(color(self.panel, number), 1, ends.to_vec())?;
            self.mark(number, place(point, summary.median))?;
        }
        Ok(())
    }

    fn stroke(&self, number: usize, spots: Vec<Spot>) -> Drawn<'c> {
        let color = color(self.panel, number);
        if self.panel.series[number].is_reference {
            self.sheet.dashes(color, 2, spots)
        } else {
            // Beyond the last colour they repeat, with thinner lines and other marks.
            let width = if number < PALETTE.len() { 2 } else { 1 };
            self.sheet.line(color, width, spots)
        }
    }

    fn mark(&self, number: usize, spot: Spot) -> Drawn<'c> {
        if self.panel.series[number].is_reference {
            return Ok(());
        }
        self.sheet.mark(color(self.panel, number), number, spot)
    }

    fn y_axis(&self, axis: &YAxis) -> Drawn<'c> {
        for value in axis.ticks() {
            let y = axis.place(value);
            self.sheet.line(FAINT, 1, vec![(LEFT, y), (RIGHT, y)])?;
            self.sheet.text(&axis.label(value), (LEFT - 8, y), 11, Side::Right)?;
        }
        Ok(())
    }

    /// Draws a tick for each point, and a label if there is room. The last point always has its label.
    fn x_axis(&self, axis: &XAxis, title: &str) -> Drawn<'c> {
        self.sheet.line(INK, 1, vec![(LEFT, BOTTOM), (RIGHT, BOTTOM)])?;
        let mut free = 0;
        let end = self.panel.points.last().map_or(0, |point| axis.place(point.x));
        for point in &self.panel.points {
            let x = axis.place(point.x);
            self.sheet.line(INK, 1, vec![(x, BOTTOM), (x, BOTTOM + 4)])?;
            if x == end || (x >= free && x + LABEL_GAP <= end) {
                self.sheet.text(&point.label, (x, BOTTOM + 14), 11, Side::Middle)?;
                free = x + LABEL_GAP;
            }
        }
        self.sheet.text(title, ((LEFT + RIGHT) / 2, BOTTOM + 34), 12, Side::Middle)
    }
}

/// The axis of a panel's points: logarithmic, but linear if a point is at zero.
struct XAxis {
    scale: fn(f64) -> f64,
    from: f64,
    to: f64,
}

impl XAxis {
    /// The space that stays free at both ends, half as wide as a label.
    const INSET: f64 = 20.0;

    fn over(panel: &Panel) -> Self {
        let is_linear = panel.points.iter().any(|point| point.x <= 0.0);
        let scale: fn(f64) -> f64 = if is_linear { |x| x } else { f64::ln };
        let end = |point: Option<&Point>| point.map_or(0.0, |point| scale(point.x));
        Self { scale, from: end(panel.points.first()), to: end(panel.points.last()) }
    }

    fn place(&self, value: f64) -> i32 {
        let width = f64::from(RIGHT - LEFT) - 2.0 * Self::INSET;
        let share = match self.to - self.from {
            0.0 => 0.5,
            length => ((self.scale)(value) - self.from) / length,
        };
        LEFT + (Self::INSET + share * width).round() as i32
    }
}

/// The axis of a panel's values: linear, from zero, with round steps.
struct YAxis {
    step: f64,
    steps: u32,
}

impl YAxis {
    const STEPS_MAX: f64 = 5.0;

    /// Returns the shortest axis of at most five round steps that has room for `most`.
    fn up_to(most: f64) -> Self {
        if most <= 0.0 || !most.is_finite() {
            return Self { step: 1.0, steps: 1 };
        }
        let power = 10_f64.powf((most / Self::STEPS_MAX).log10().floor());
        let fits = |factor: &f64| most <= factor * power * Self::STEPS_MAX;
        let step = [1.0, 2.0, 2.5, 5.0, 10.0].into_iter().find(fits).unwrap_or(10.0) * power;
        Self { step, steps: (most / step).ceil() as u32 }
    }

    fn ticks(&self) -> impl Iterator<Item = f64> + use<> {
        let step = self.step;
        (0..=self.steps).map(move |number| f64::from(number) * step)
    }

    fn label(&self, value: f64) -> String {
        if self.step >= 1.0 && self.step.fract() == 0.0 {
            grouped(value)
        } else {
            format!("{value:.digits$}", digits = self.digits())
        }
    }

    /// Returns the least number of digits after the point with which labels tell the ticks apart.
    fn digits(&self) -> usize {
        let digits = (0..6).find(|&digits| (self.step * 10_f64.powi(digits)).fract().abs() < 1e-9);
        digits.unwrap_or(6) as usize
    }

    fn place(&self, value: f64) -> i32 {
        let share = value / (self.step * f64::from(self.steps));
        BOTTOM - (share * f64::from(BOTTOM - TOP)).round() as i32
    }
}

/// The number that stands at the right of a bar.
#[derive(Clone, Copy)]
enum Beside {
    /// Committed transactions per second.
    Throughput,
    /// Granted locks per transaction.
    Locks,
}

impl Beside {
    /// Returns the head of the column.
    fn head(self) -> &'static str {
        match self {
            Beside::Throughput => "txn/s",
            Beside::Locks => "locks/txn",
        }
    }

    /// Returns the text for the median of the runs at a bar, or `None` if there are no runs.
    fn text(self, runs: &[EngineReport]) -> Option<String> {
        let median_of = |of: fn(&EngineReport) -> f64| median(&runs.iter().map(of).collect::<Vec<_>>());
        match self {
            Beside::Throughput => median_of(EngineReport::throughput).map(grouped),
            Beside::Locks => median_of(|run| run.costs.locks_per_txn).map(brief),
        }
    }
}

struct Bars<'a, 'b, 'c> {
    sheet: &'a Sheet<'b, 'c>,
    results: &'a Results,
    number: usize,
    panel: &'a Panel,
    beside: Beside,
}

impl<'c> Bars<'_, '_, 'c> {
    fn draw(&self) -> Drawn<'c> {
        self.sheet.text(&format!("({}) {}", self.panel.id, self.panel.title), (MARGIN, TITLE), 14, Side::Left)?;
        self.sheet.text(self.results.plan.value, (BARS_LEFT, TOP - 12), 11, Side::Left)?;
        self.sheet.text(self.beside.head(), (WIDTH - MARGIN, TOP - 12), 11, Side::Right)?;
        for number in 0..self.panel.points.len() {
            self.bar(number, TOP + number as i32 * BAR)?;
        }
        let top = TOP + BAR * self.panel.points.len() as i32 + MARGIN;
        legend(self.sheet, self.panel, top, |number, (x, y)| {
            self.sheet.rectangle(color(self.panel, number), (x, y - 6), (x + 22, y + 6))
        })
    }

    fn bar(&self, point: usize, top: i32) -> Drawn<'c> {
        /// The least width of a part that has its number in it.
        const NUMBER_WIDTH: i32 = 24;
        let middle = top + BAR / 2;
        self.sheet.text(&self.panel.points[point].label, (BARS_LEFT - 8, middle), 12, Side::Right)?;
        let mut below = 0.0;
        for (number, series) in self.panel.series.iter().enumerate() {
            let Some(summary) = self.results.summary(self.number, point, series) else { continue };
            let place = |percent: f64| BARS_LEFT + (percent / 100.0 * f64::from(BARS_RIGHT - BARS_LEFT)).round() as i32;
            let (from, to) = (place(below), place(below + summary.median).min(BARS_RIGHT));
            self.sheet.rectangle(color(self.panel, number), (from, top + 4), (to, top + BAR - 4))?;
            if to - from >= NUMBER_WIDTH {
                let number = format!("{:.0}", summary.median);
                self.sheet.text_in(plotters::style::WHITE, &number, ((from + to) / 2, middle), 11, Side::Middle)?;
            }
            below += summary.median;
        }
        let runs = self.panel.series.first().map_or(&[][..], |series| self.results.runs(self.number, point, series));
        match self.beside.text(runs) {
            Some(text) => self.sheet.text(&text, (WIDTH - MARGIN, middle), 12, Side::Right),
            None => Ok(()),
        }
    }
}

/// The height of a bar among those of one point, and the space between the bars of two points.
const THIN_BAR: i32 = 12;
const GAP: i32 = 8;

/// Returns the height of all bars of one point of a panel, with the space below them.
fn ratios_height(panel: &Panel) -> i32 {
    THIN_BAR * panel.series.len() as i32 + GAP
}

struct Ratios<'a, 'b, 'c> {
    sheet: &'a Sheet<'b, 'c>,
    results: &'a Results,
    panel: &'a Panel,
}

impl<'c> Ratios<'_, '_, 'c> {
    fn draw(&self) -> Drawn<'c> {
        self.sheet.text(&format!("({}) {}", self.panel.id, self.panel.title), (MARGIN, TITLE), 14, Side::Left)?;
        if let Some(first) = self.panel.series.first() {
            let what = format!("{} as ratios; 1 is {}", self.results.plan.value, first.name);
            self.sheet.text(&what, (BARS_LEFT, TOP - 12), 11, Side::Left)?;
        }
        let points = 0..self.panel.points.len();
        let all =
            points.clone().flat_map(|point| (0..self.panel.series.len()).filter_map(move |s| self.ratio(point, s)));
        let most = all.filter(|ratio| ratio.is_finite()).fold(1.0, f64::max);
        for point in points {
            self.bars(point, TOP + ratios_height(self.panel) * point as i32, most)?;
        }
        let top = TOP + ratios_height(self.panel) * self.panel.points.len() as i32 + MARGIN;
        legend(self.sheet, self.panel, top, |number, (x, y)| {
            self.sheet.rectangle(color(self.panel, number), (x, y - 6), (x + 22, y + 6))
        })
    }

    /// Returns the ratio of a series to the first one at a point, or `None` if one of the two was not measured.
    fn ratio(&self, point: usize, series: usize) -> Option<f64> {
        let (first, other) = (self.panel.series.first()?, self.panel.series.get(series)?);
        self.results.ratio(self.panel.id, At::Number(point), other.name, first.name)
    }

    /// Draws the bars of a point below `top`. A ratio of `most` takes all the room.
    fn bars(&self, point: usize, top: i32, most: f64) -> Drawn<'c> {
        let middle = top + THIN_BAR * self.panel.series.len() as i32 / 2;
        self.sheet.text(&self.panel.points[point].label, (BARS_LEFT - 8, middle), 12, Side::Right)?;
        for number in 0..self.panel.series.len() {
            let Some(ratio) = self.ratio(point, number).filter(|ratio| ratio.is_finite()) else { continue };
            let end = BARS_LEFT + (ratio / most * f64::from(BARS_RIGHT - BARS_LEFT)).round() as i32;
            let top = top + THIN_BAR * number as i32;
            self.sheet.rectangle(color(self.panel, number), (BARS_LEFT, top), (end, top + THIN_BAR - 2))?;
            if number > 0 {
                let middle = top + THIN_BAR / 2 - 1;
                self.sheet.text(&format!("{ratio:.2}"), (end + 4, middle), 10, Side::Left)?;
            }
        }
        Ok(())
    }
}

struct Table<'a, 'b, 'c> {
    sheet: &'a Sheet<'b, 'c>,
    results: &'a Results,
    number: usize,
    panel: &'a Panel,
}

impl<'c> Table<'_, '_, 'c> {
    fn draw(&self) -> Drawn<'c> {
        self.sheet.text(&format!("({}) {}", self.panel.id, self.panel.title), (MARGIN, TITLE), 14, Side::Left)?;
        self.sheet.text(self.results.plan.value, (MARGIN, TOP - 14), 11, Side::Left)?;
        let line = |row: i32| TOP + TABLE_ROW * row + TABLE_ROW / 2;
        for (point, shown) in self.panel.points.iter().enumerate() {
            self.sheet.text(&shown.label, (self.right_of(point), line(0)), 12, Side::Right)?;
        }
        for (row, series) in (1..).zip(&self.panel.series) {
            let top = TOP + TABLE_ROW * row;
            self.sheet.line(FAINT, 1, vec![(MARGIN, top), (WIDTH - MARGIN, top)])?;
            self.sheet.text(series.name, (MARGIN, line(row)), 12, Side::Left)?;
            self.cells(series, line(row))?;
        }
        Ok(())
    }

    /// Writes the medians of a series into the row of a table at height `y`, each after the first with its distance
    /// from the first.
    fn cells(&self, series: &Series, y: i32) -> Drawn<'c> {
        let median = |point| Some(self.results.summary(self.number, point, series)?.median);
        for point in 0..self.panel.points.len() {
            let Some(value) = median(point) else { continue };
            let number = if value < 100.0 { format!("{value:.1}") } else { grouped(value) };
            let distance = median(0).filter(|&first| point > 0 && first > 0.0);
            let text = match distance {
                Some(first) => format!("{number} ({:+.1} %)", (value / first - 1.0) * 100.0),
                None => number,
            };
            self.sheet.text(&text, (self.right_of(point), y), 12, Side::Right)?;
        }
        Ok(())
    }

    /// Returns the right end of the column of a point, in pixels.
    fn right_of(&self, point: usize) -> i32 {
        let columns = self.panel.points.len().max(1) as i32;
        TABLE_LEFT + (WIDTH - MARGIN - TABLE_LEFT) / columns * (point as i32 + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::figures::FIGURES;
    use crate::reproduce::results::tests::{QUICK, made_up};

    #[test]
    fn every_panel_shows_its_series_and_its_points() {
        for figure in FIGURES {
            let results = made_up(figure, |made| 20.0 + made.way + made.repetition as f64);
            for (number, panel) in results.plan.panels.iter().enumerate() {
                let svg = draw(&results, number).expect("a picture");
                assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"), "{}", figure.id);
                let title = format!("({}) {}", panel.id, panel.title);
                let names = panel.series.iter().map(|series| series.name).chain([title.as_str()]);
                let labels =
                    [&panel.points[0], &panel.points[panel.points.len() - 1]].map(|point| point.label.as_str());
                for expected in names.chain(labels) {
                    assert!(svg.contains(&format!("\n{expected}\n")), "{}: {expected}", figure.id);
                }
            }
        }
    }

    #[test]
    fn a_panel_without_points_is_empty_axes() {
        for figure in FIGURES {
            let results = Results::new((figure.plan)(&QUICK), &QUICK);
            assert!(draw(&results, 0).expect("a picture").contains("</svg>"), "{}", figure.id);
        }
    }

    #[test]
    fn the_value_axis_is_round_and_has_room() {
        for (most, step, steps, labels) in [
            (0.0, 1.0, 1, "0 1"),
            (0.031, 0.01, 4, "0.00 0.01 0.02 0.03 0.04"),
            (1.0, 0.2, 5, "0.0 0.2 0.4 0.6 0.8 1.0"),
            (7.0, 2.0, 4, "0 2 4 6 8"),
            (12.0, 2.5, 5, "0.0 2.5 5.0 7.5 10.0 12.5"),
            (999.0, 200.0, 5, "0 200 400 600 800 1,000"),
            (1001.0, 250.0, 5, "0 250 500 750 1,000 1,250"),
            (f64::INFINITY, 1.0, 1, "0 1"),
        ] {
            let axis = YAxis::up_to(most);
            assert!((axis.step - step).abs() < 1e-9 && axis.steps == steps, "{most}: {} x {}", axis.steps, axis.step);
            let shown: Vec<_> = axis.ticks().map(|value| axis.label(value)).collect();
            assert_eq!(shown.join(" "), labels, "{most}");
            assert_eq!((axis.place(0.0), axis.place(axis.step * f64::from(axis.steps))), (BOTTOM, TOP));
        }
    }

    #[test]
    fn the_point_axis_is_logarithmic_unless_a_point_is_at_zero() {
        let mut panel = Results::new((FIGURES[0].plan)(&QUICK), &QUICK).plan.panels.swap_remove(0);
        let mut middle = |points: [u64; 3]| {
            panel.points = points.iter().map(|&x| Point::at(x, "", String::new())).collect();
            let axis = XAxis::over(&panel);
            let [from, at, to] = points.map(|x| f64::from(axis.place(x as f64)));
            (at - from) / (to - from)
        };
        for (points, share) in [([1, 10, 100], 0.5), ([0, 10, 100], 0.1), ([100, 10, 0], 0.9)] {
            assert!((middle(points) - share).abs() < 0.01, "{points:?}");
        }
    }

    #[test]
    fn the_point_axis_runs_in_the_direction_of_the_points() {
        let results = Results::new((FIGURES[0].plan)(&QUICK), &QUICK);
        let panel = &results.plan.panels[0];
        let axis = XAxis::over(panel);
        let places: Vec<_> = panel.points.iter().map(|point| axis.place(point.x)).collect();
        assert!(
            places.is_sorted_by(|a, b| a < b) && places[0] > LEFT && places[places.len() - 1] < RIGHT,
            "{places:?}"
        );
    }
}
