//! The command line of a point: a command of `hotrow bench` without the engines and the lengths of runs.

use crate::command::BenchCommand;
use crate::options::{RunOptions, WorkloadOptions};
use clap::Parser;
use hotrow_workloads::Workload;

/// Parses the words that name a workload and decide its rows. Returns the command without a point's other options.
pub(super) fn parse_rows(rows: &str) -> Result<BenchCommand, String> {
    #[derive(Parser)]
    #[command(no_binary_name = true)]
    struct Line {
        #[command(subcommand)]
        workload: BenchCommand,
    }

    let line = Line::try_parse_from(rows.split_whitespace()).map_err(|error| error.to_string())?;
    Ok(line.workload)
}

/// Parses the command of a point whose workload's type is known. Returns the workload, and the options of its runs.
pub(super) fn parse_options<W: Workload>(rows: &str, options: &str) -> Result<(W, RunOptions), String> {
    #[derive(Parser)]
    struct Line<O: clap::Args> {
        #[command(flatten)]
        options: WorkloadOptions<O>,
    }

    let words = rows.split_whitespace().chain(options.split_whitespace());
    let line = Line::<W::Options>::try_parse_from(words).map_err(|error| error.to_string())?;
    Ok((W::new(line.options.workload)?, line.options.run))
}
