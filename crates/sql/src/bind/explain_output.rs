//! The output of EXPLAIN, as lines or as JSON, with PostgreSQL's names for the properties of operators.

use crate::MemoryLimit;
use crate::json::{pretty, write_string};
use crate::plan::measured::Actual;
use hotrow_storage::Value;

/// An operator of the plan.
#[derive(Debug)]
pub(crate) struct Operator {
    /// The number of operators above this one.
    pub(super) depth: usize,
    /// The operator's line.
    pub(super) text: String,
    /// The operator's type and further properties, by name.
    pub(super) properties: Vec<(&'static str, String)>,
    /// The operator's measurements, if the plan has been run.
    pub(super) actual: Option<Actual>,
    /// Further lines about the operator, by name.
    pub(super) details: Vec<(&'static str, String)>,
}

/// The operators of a plan, and the closing lines about the statement as a whole.
#[derive(Debug, Default)]
pub(crate) struct ExplainOutput {
    pub(super) operators: Vec<Operator>,
    /// The closing lines, each with its content as names and numbers for JSON.
    closing: Vec<(String, Vec<(&'static str, String)>)>,
}

impl ExplainOutput {
    /// Returns the rows of EXPLAIN's result: one for each line, or a single one with the whole JSON.
    pub(crate) fn rows(&self, as_json: bool) -> Vec<Value<'static>> {
        match as_json {
            true => vec![Value::Json(self.json().into())],
            false => self.lines().into_iter().map(|line| Value::Text(line.into())).collect(),
        }
    }

    /// Adds a closing line. `numbers` stand for it in JSON.
    pub(crate) fn close(&mut self, line: String, numbers: Vec<(&'static str, String)>) {
        self.closing.push((line, numbers));
    }

    /// Adds a closing line with a time of the whole statement, in nanoseconds.
    pub(crate) fn close_time(&mut self, name: &'static str, taken_ns: u64) {
        let ms = format!("{:.3}", taken_ns as f64 / 1e6);
        self.close(format!("{name}: {ms} ms"), vec![(name, ms)]);
    }

    /// Returns the output as lines.
    pub(crate) fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for Operator { depth, text, actual, details, .. } in &self.operators {
            let actual = actual.as_ref().map(Actual::to_string).unwrap_or_default();
            lines.push(match depth {
                0 => format!("{text}{actual}"),
                depth => format!("{}->  {text}{actual}", " ".repeat(depth * 6 - 4)),
            });
            let blanks = " ".repeat(depth * 6 + 2);
            lines.extend(details.iter().map(|(name, detail)| format!("{blanks}{name}: {detail}")));
        }
        lines.extend(self.closing.iter().map(|(line, _)| line.clone()));
        lines
    }

    /// Returns the output as JSON: an array of one object.
    pub(crate) fn json(&self) -> String {
        // The queries of WITH come before the query that uses them, but JSON has them below it.
        let last = self.operators.iter().rposition(|operator| operator.depth == 0).unwrap_or(0);
        let (before, body) = self.operators.split_at(last);
        let below = before.iter().map(|operator| (operator, operator.depth + 1));
        let rest = body.iter().skip(1).map(|operator| (operator, operator.depth));
        let all = body.iter().take(1).map(|operator| (operator, 0)).chain(below).chain(rest);
        let mut out = String::from("[{\"Plan\": ");
        let mut open: Option<usize> = None;
        for (operator, depth) in all {
            match open {
                None => {}
                Some(above) if depth > above => out.push_str(", \"Plans\": ["),
                Some(before) => {
                    out.push('}');
                    (depth..before).for_each(|_| out.push_str("]}"));
                    out.push_str(", ");
                }
            }
            open = Some(depth);
            operator.write(&mut out);
        }
        out.push('}');
        (0..open.unwrap_or(0)).for_each(|_| out.push_str("]}"));
        for (name, number) in self.closing.iter().flat_map(|(_, numbers)| numbers) {
            out.push_str(&format!(", \"{name}\": {number}"));
        }
        out.push_str("}]");
        // Output that nests too deeply for the indented form stays on one line.
        pretty(&out, MemoryLimit::NONE).unwrap_or(out)
    }
}

impl Operator {
    /// Writes the start of a JSON object with the operator's own members. The object stays open.
    fn write(&self, out: &mut String) {
        out.push('{');
        let mut between = "";
        let mut member = |name: &str, value: &str, out: &mut String| {
            out.push_str(between);
            between = ", ";
            out.push_str(&format!("\"{name}\": {value}"));
        };
        for (name, value) in self.properties.iter().chain(&self.details) {
            let mut quoted = String::new();
            match *name {
                "Rows Removed by Filter" => quoted.push_str(value),
                _ => write_string(value, &mut quoted),
            }
            member(name, &quoted, out);
        }
        if let Some(Actual { times_ms, rows, loops }) = &self.actual {
            if let Some((first, total)) = times_ms {
                member("Actual Startup Time", &format!("{first:.3}"), out);
                member("Actual Total Time", &format!("{total:.3}"), out);
            }
            member("Actual Rows", &rows.to_string(), out);
            member("Actual Loops", &loops.to_string(), out);
        }
    }
}
