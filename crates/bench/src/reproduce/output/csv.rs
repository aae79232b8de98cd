//! A figure's points as CSV: a row for each series at each point that was measured.

use crate::reproduce::figure::Figure;
use crate::reproduce::results::Results;

/// The names of the columns. `x` and `median`, `min`, `max` are in the units that the columns before them name.
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

/// Returns the CSV text: a head, and a row for each series at each measured point.
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
                    results.plan.chart.x(panel_number),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::figures::FIGURES;
    use crate::reproduce::results::tests::{QUICK, made_up};

    #[test]
    fn each_point_of_each_series_has_a_row() {
        for figure in FIGURES {
            let results = made_up(figure, |made| 10.0 + made.repetition as f64);
            let bytes = write(figure, &results).expect("a vector takes everything");
            let mut reader = csv::Reader::from_reader(bytes.as_slice());
            assert_eq!(reader.headers().expect("a head"), HEAD.as_slice());
            let rows: Vec<csv::StringRecord> =
                reader.records().collect::<Result<_, _>>().expect("rows of equal length");
            let expected: usize = results.plan.panels.iter().map(|panel| panel.points.len() * panel.series.len()).sum();
            assert_eq!(rows.len(), expected, "{}", figure.id);
            for row in &rows {
                assert_eq!((&row[0], &row[11]), (figure.id, "3"));
                let numbers: Vec<f64> = (8..11).map(|column| row[column].parse().expect("a number")).collect();
                assert!(numbers[1] <= numbers[0] && numbers[0] <= numbers[2], "{row:?}");
            }
        }
    }

    #[test]
    fn what_was_not_measured_has_no_row() {
        let results = Results::new((FIGURES[0].plan)(&QUICK), &QUICK);
        let bytes = write(FIGURES[0], &results).expect("a vector takes everything");
        assert_eq!(String::from_utf8(bytes).expect("text").trim_end(), HEAD.join(","));
    }
}
