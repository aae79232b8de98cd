//! A figure's points as CSV: a row for each series at each point that was measured.

use super::figure::Figure;
use super::results::Results;

/// What the columns are called. `x` and `median`, `min`, `max` are in the units that the columns before them name.
const HEAD: [&str; 13] = [
    "figure",
    "panel",
    "title",
    "series",
    "engine",
    "x_axis",
    "x",
    "unit",
    "median",
    "min",
    "max",
    "repetitions",
    "aborts_percent",
];

/// The rows with their head.
pub(crate) fn write(figure: &Figure, results: &Results) -> Result<Vec<u8>, String> {
    write_rows(figure, results).map_err(|error| format!("the points could not be written as CSV: {error}"))
}

fn write_rows(figure: &Figure, results: &Results) -> Result<Vec<u8>, Box<dyn std::error::Error>> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(HEAD)?;
    for (panel_number, panel) in results.plan.panels.iter().enumerate() {
        for series in &panel.series {
            for (point_number, point) in panel.points.iter().enumerate() {
                let Some(summary) = results.summary(panel_number, point_number, series) else { continue };
                writer.write_record([
                    figure.id,
                    panel.id,
                    &panel.title,
                    series.name,
                    series.engine,
                    results.plan.chart.x(),
                    &point.label,
                    results.plan.value,
                    &format!("{:.3}", summary.median),
                    &format!("{:.3}", summary.min),
                    &format!("{:.3}", summary.max),
                    &summary.repetitions.to_string(),
                    &format!("{:.2}", summary.abort_percent),
                ])?;
            }
        }
    }
    Ok(writer.into_inner()?)
}
