//! The `hotrow` program: serve, backup, restore, log, bench, check, reproduce, engines.
//!
//! Exit codes: 0 success; 1 a run or its check failed, or was interrupted; 2 the command line was wrong, or the file
//! that it names is not as it should be.

mod commands;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, Parser, Subcommand};
use commands::Failure;
use hotrow_sync::meter::Metered;
use std::io::{self, ErrorKind as IoErrorKind, Write};
use std::process::ExitCode;

/// The program's allocator. The hot path does not allocate; all other code (sessions, DDL, variable parts of rows)
/// should not contend for one allocator, so it is one with a heap for each thread. Memory is counted for
/// `serve --memory-limit`.
#[global_allocator]
static ALLOCATOR: Metered<mimalloc::MiMalloc> = Metered(mimalloc::MiMalloc);

/// A main-memory OLTP database for contended data
#[derive(Parser)]
#[command(name = "hotrow", version, about)]
struct CommandLine {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// Serve PostgreSQL clients
    Serve(commands::serve::Options),
    /// Copy a database into a folder, while clients use it
    Backup(commands::backup::BackupOptions),
    /// Make a data directory of a backup, as the database was at some point
    Restore(commands::backup::RestoreOptions),
    /// Look at a data directory or a backup
    Log {
        #[command(subcommand)]
        command: commands::log::LogCommand,
    },
    /// Run a benchmark on one engine after another
    Bench {
        #[command(subcommand)]
        workload: hotrow_bench::BenchCommand,
    },
    /// Check whether transactions were isolated, in a recorded history or on engines
    Check(commands::check::Options),
    /// Measure figures of papers again, and compare the results with the papers' claims
    Reproduce(hotrow_bench::ReproduceOptions),
    /// List the engines
    Engines(commands::engines::Options),
}

const HOW_TO_START: &str = "\
Hotrow, a main-memory OLTP database for contended data.

  hotrow serve              serve PostgreSQL clients on 127.0.0.1:5442
  hotrow backup             copy a database while clients use it (and: restore, log)
  hotrow bench ycsb         run a benchmark in this process (or: interactive, tpcb, tpcc, tatp,
                            transfers, micro, hekaton, bimodal, roving, range)
  hotrow check              record transactions of an engine, and judge whether they were isolated
  hotrow reproduce          list the figures of papers that it can measure
  hotrow engines            list the engines
  hotrow COMMAND --help     what else a command takes
";

fn main() -> ExitCode {
    let command_line = match CommandLine::try_parse() {
        Ok(command_line) => command_line,
        Err(error) => return explain(&error),
    };
    let mut out = io::stdout();
    let outcome = match &command_line.command {
        None => write!(out, "{HOW_TO_START}").map_err(Failure::Output),
        Some(Command::Serve(options)) => commands::serve::run(options, &mut out),
        Some(Command::Backup(options)) => commands::backup::back_up(options, &mut out),
        Some(Command::Restore(options)) => commands::backup::restore(options, &mut out),
        Some(Command::Log { command }) => commands::log::run(command, &mut out),
        Some(Command::Bench { workload }) => commands::bench::run(workload, &mut out),
        Some(Command::Check(options)) => commands::check::run(options, &mut out),
        Some(Command::Reproduce(options)) => commands::reproduce::run(options, &mut out),
        Some(Command::Engines(options)) => commands::engines::run(options, &mut out),
    };
    match outcome.and_then(|()| out.flush().map_err(Failure::Output)) {
        Ok(()) => ExitCode::SUCCESS,
        // The reader of the output has closed it because it has seen enough.
        Err(Failure::Output(error)) if error.kind() == IoErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(failure) => {
            // If standard error is closed, the message is lost.
            let _ = writeln!(io::stderr(), "error: {failure}");
            failure.exit_code()
        }
    }
}

/// Prints clap's message, and the available commands if the command is unknown.
fn explain(error: &clap::Error) -> ExitCode {
    // If the stream is closed, the message is lost.
    let _ = error.print();
    if error.kind() == ErrorKind::InvalidSubcommand {
        let _ = writeln!(io::stderr(), "\nexpected one of: {}", expected_commands(error).join(", "));
    }
    match error.exit_code() {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::from(2),
    }
}

/// Returns the words that the user could have given instead of an unknown one: workloads after `bench`, otherwise
/// commands.
fn expected_commands(error: &clap::Error) -> Vec<String> {
    let usage = match error.get(ContextKind::Usage) {
        Some(ContextValue::StyledStr(usage)) => usage.to_string(),
        _ => String::new(),
    };
    let command = CommandLine::command();
    let bench = command.find_subcommand("bench").filter(|_| usage.contains(" bench "));
    bench.unwrap_or(&command).get_subcommands().map(|command| command.get_name().to_owned()).collect()
}
