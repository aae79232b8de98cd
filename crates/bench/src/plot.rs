//! The report as a picture: a row for each engine, with throughput as a bar and latency as a line from p50 to p99.

use crate::numbers::grouped;
use crate::report::EngineSummary;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

const WIDTH: u32 = 960;
const TOP: i32 = 92;
const ROW: i32 = 44;
const BOTTOM: i32 = 48;
/// The right end of the engines' names, and both ends of the panels of throughput and of latency, in pixels.
const NAMES_END: i32 = 130;
const BARS: (i32, i32) = (140, 500);
const LATENCIES: (i32, i32) = (620, 930);

const BAR: RGBColor = RGBColor(0xd9, 0x5f, 0x02);
const DOT: RGBColor = RGBColor(0x1b, 0x6c, 0xa8);
const INK: RGBColor = RGBColor(0x22, 0x22, 0x22);
const FAINT: RGBColor = RGBColor(0xbb, 0xbb, 0xbb);

/// Draws the throughput and the latency of each engine under a title. Returns the SVG.
pub(crate) fn draw(title: &str, engines: &[EngineSummary<'_>]) -> Result<String, String> {
    let mut svg = String::new();
    let height = TOP + ROW * engines.len() as i32 + BOTTOM;
    let canvas = SVGBackend::with_string(&mut svg, (WIDTH, height as u32)).into_drawing_area();
    let drawn = Picture { canvas: &canvas, height }.draw(title, engines).and_then(|()| canvas.present());
    drawn.map_err(|error| format!("the picture could not be drawn: {error}"))?;
    drop(canvas);
    Ok(svg)
}

type Canvas<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;
type Drawn<'a> = Result<(), DrawingAreaErrorKind<<SVGBackend<'a> as DrawingBackend>::ErrorType>>;

struct Picture<'a, 'b> {
    canvas: &'a Canvas<'b>,
    height: i32,
}

impl<'b> Picture<'_, 'b> {
    fn draw(&self, title: &str, engines: &[EngineSummary<'_>]) -> Drawn<'b> {
        self.canvas.fill(&WHITE)?;
        self.text(title, (20, 26), 17, HPos::Left)?;
        self.text("transactions per second", (BARS.0, 62), 13, HPos::Left)?;
        self.text("latency p50 to p99, µs (logarithmic)", (LATENCIES.0, 62), 13, HPos::Left)?;
        let most = engines.iter().map(|engine| engine.median.throughput()).fold(1.0, f64::max);
        let scale = LatencyScale::over(engines);
        self.latency_axis(&scale)?;
        for (row, engine) in engines.iter().enumerate() {
            let middle = TOP + ROW * row as i32 + ROW / 2;
            self.text(engine.engine, (NAMES_END, middle), 14, HPos::Right)?;
            self.bar(engine, middle, most)?;
            self.latency(engine, middle, &scale)?;
        }
        Ok(())
    }

    fn bar(&self, engine: &EngineSummary<'_>, middle: i32, most: f64) -> Drawn<'b> {
        let throughput = engine.median.throughput();
        let end = BARS.0 + (f64::from(BARS.1 - BARS.0) * throughput / most) as i32;
        self.canvas.draw(&Rectangle::new([(BARS.0, middle - 11), (end, middle + 11)], BAR.filled()))?;
        let label = format!("{}  ({:.2})", grouped(throughput), engine.ratio);
        self.text(&label, (end + 6, middle), 12, HPos::Left)
    }

    fn latency(&self, engine: &EngineSummary<'_>, middle: i32, scale: &LatencyScale) -> Drawn<'b> {
        let latency = engine.median.transactions.latency_us;
        let (p50, p99) = (scale.place(latency.p50), scale.place(latency.p99));
        self.canvas.draw(&PathElement::new([(p50, middle), (p99, middle)], DOT.stroke_width(3)))?;
        self.canvas.draw(&Circle::new((p50, middle), 5, DOT.filled()))?;
        self.canvas.draw(&Rectangle::new([(p99 - 2, middle - 7), (p99 + 1, middle + 7)], DOT.filled()))
    }

    /// Draws a faint line for each power of ten.
    fn latency_axis(&self, scale: &LatencyScale) -> Drawn<'b> {
        for power in scale.from..=scale.to {
            let x = scale.place(10_f64.powi(power));
            let foot = self.height - BOTTOM + 6;
            self.canvas.draw(&PathElement::new([(x, TOP - 6), (x, foot)], FAINT.stroke_width(1)))?;
            self.text(&format!("{}", 10_f64.powi(power)), (x, foot + 12), 11, HPos::Center)?;
        }
        Ok(())
    }

    fn text(&self, text: &str, place: (i32, i32), size: u32, side: HPos) -> Drawn<'b> {
        let style = ("sans-serif", size).into_font().color(&INK).pos(Pos::new(side, VPos::Center));
        self.canvas.draw(&Text::new(text.to_owned(), place, style))
    }
}

/// A logarithmic axis between two powers of ten.
struct LatencyScale {
    from: i32,
    to: i32,
}

impl LatencyScale {
    /// Returns the shortest axis that has room for the latencies of every engine. A run without transactions has
    /// latencies of zero.
    fn over(engines: &[EngineSummary<'_>]) -> Self {
        let latencies = || {
            engines.iter().flat_map(|engine| {
                [engine.median.transactions.latency_us.p50, engine.median.transactions.latency_us.p99]
            })
        };
        let logs = || latencies().filter(|&latency| latency > 0.0).map(f64::log10);
        let from = logs().fold(f64::INFINITY, f64::min);
        let to = logs().fold(f64::NEG_INFINITY, f64::max);
        if from > to {
            return Self { from: 0, to: 1 };
        }
        let from = from.floor() as i32;
        Self { from, to: (to.ceil() as i32).max(from + 1) }
    }

    fn place(&self, latency: f64) -> i32 {
        let share = (latency.max(f64::MIN_POSITIVE).log10() - f64::from(self.from)) / f64::from(self.to - self.from);
        LATENCIES.0 + (share.clamp(0.0, 1.0) * f64::from(LATENCIES.1 - LATENCIES.0)) as i32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::summarize;
    use crate::report::tests::report;

    #[test]
    fn every_engine_has_its_row() {
        let turns = [vec![report("serial", 1000.0, "ok"), report("2pl-waitdie", 2_000_000.0, "ok")]];
        let svg = draw("a title & more", &summarize(&turns)).expect("a picture");
        for expected in ["serial", "2pl-waitdie", "2,000,000  (2000.00)", "a title &amp; more", "</svg>"] {
            assert!(svg.contains(expected), "{expected} is not in {svg}");
        }
    }

    #[test]
    fn an_axis_has_room_for_all_latencies() {
        let turns = [vec![report("a", 1.0, "ok")], vec![]];
        let scale = LatencyScale::over(&summarize(&turns[..1]));
        assert_eq!((scale.from, scale.to), (0, 1));
        assert_eq!(scale.place(1.0), LATENCIES.0);
        assert_eq!(scale.place(10.0), LATENCIES.1);
        assert_eq!(scale.place(0.0), LATENCIES.0);
    }
}
