//! The command line.

use crate::machines::{KNOWN, machine};
use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use hotrow_bench::{BenchCommand, BenchError, Interrupt, ReproduceOptions, WORKLOADS, bench, reproduce};
use hotrow_sync::machine::{self, Hardware, Place, Report};
use std::io::{self, Write};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// The benchmarks of Hotrow on simulated machines
#[derive(Parser)]
#[command(name = "hotrow-sim", version, about)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run a benchmark as `hotrow bench` does, in the time of a simulated machine
    Bench {
        #[command(flatten)]
        machine: MachineOptions,
        #[command(subcommand)]
        workload: Box<BenchCommand>,
    },
    /// Measure figures of papers as `hotrow reproduce` does, in the time of a simulated machine
    Reproduce {
        #[command(flatten)]
        machine: MachineOptions,
        #[command(flatten)]
        figures: ReproduceOptions,
    },
    /// List the machines
    Machines,
}

/// The options that choose a machine.
#[derive(clap::Args)]
struct MachineOptions {
    /// A machine by name, or a file with its parameters; `hotrow-sim machines` lists the names
    #[arg(long, value_name = "NAME", default_value = "cloud", global = true)]
    machine: String,

    /// Cores of the machine, in place of its own number
    #[arg(long, value_name = "N", global = true)]
    cores: Option<usize>,

    /// Also print this many lines of code, those at which threads wait longest for cache lines
    #[arg(long, value_name = "N", default_value_t = 0, global = true)]
    places: usize,
}

/// The default of `--seconds`. It is short, because each second of a simulated core takes some real seconds.
const SECONDS: &str = "0.02";
/// The default of `--warmup`.
const WARMUP: &str = "0.005";

/// Runs the program.
pub(crate) fn run() -> ExitCode {
    let command = CommandLine::command().mut_subcommand("bench", |bench| {
        WORKLOADS.iter().fold(bench, |bench, workload| {
            bench.mut_subcommand(workload, |workload| {
                let workload = workload.mut_arg("seconds", |arg| arg.default_value(SECONDS));
                workload.mut_arg("warmup", |arg| arg.default_value(WARMUP))
            })
        })
    });
    let parsed = command.try_get_matches().and_then(|matches| CommandLine::from_arg_matches(&matches));
    let outcome = match parsed {
        Ok(CommandLine { command: Command::Machines }) => list_machines(),
        Ok(CommandLine { command: Command::Bench { machine, workload } }) => match workload.wants_outside() {
            Some(what) => Err(Failure::usage(format!("a simulated machine has no {what}"))),
            None => simulate(&machine, |out| bench(&workload, out, &Interrupt::new())),
        },
        Ok(CommandLine { command: Command::Reproduce { machine, figures } }) => {
            simulate(&machine, |out| reproduce(&figures, out, &Interrupt::new()))
        }
        Err(error) => {
            let is_asked_for = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
            // Nobody is left to tell if the streams are closed.
            let _ = error.print();
            return if is_asked_for { ExitCode::SUCCESS } else { ExitCode::from(2) };
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure { message, code }) => {
            let _ = writeln!(io::stderr(), "hotrow-sim: {message}");
            ExitCode::from(code)
        }
    }
}

/// The reason why a command failed, and the program's exit code.
struct Failure {
    message: String,
    code: u8,
}

impl Failure {
    fn usage(message: String) -> Self {
        Self { message, code: 2 }
    }

    fn of_bench(error: &BenchError) -> Self {
        Self { message: error.to_string(), code: if matches!(error, BenchError::Usage(_)) { 2 } else { 1 } }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self { message: format!("standard output could not be written: {error}"), code: 1 }
    }
}

fn list_machines() -> Result<(), Failure> {
    let mut out = io::stdout();
    for known in &KNOWN {
        writeln!(out, "{:<10}{}", known.name, known.about)?;
    }
    Ok(())
}

/// Standard output for virtual threads: its calls run outside of the machine.
struct Outside(io::Stdout);

impl Write for Outside {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        machine::outside(|| self.0.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        machine::outside(|| self.0.flush())
    }
}

/// Runs a command on the simulated machine that the options choose, and prints a summary of the simulation.
fn simulate(
    options: &MachineOptions,
    command: impl FnOnce(&mut dyn Write) -> Result<(), BenchError>,
) -> Result<(), Failure> {
    let mut hardware: Hardware = machine(&options.machine).map_err(Failure::usage)?;
    if let Some(cores) = options.cores {
        hardware.cores = cores;
        hardware.check().map_err(Failure::usage)?;
    }
    if !machine::is_instrumented() {
        return Err(Failure::usage(
            "a build without the compiler's instrumentation: bench/sim.sh makes one".to_owned(),
        ));
    }
    let begin = Instant::now();
    let mut outcome = Ok(());
    let ran = machine::run_timed(&hardware, || {
        let result = command(&mut Outside(io::stdout()));
        machine::outside(|| outcome = result.as_ref().map(drop).map_err(Failure::of_bench));
    });
    let report = ran.map_err(|failure| Failure { message: failure.to_string(), code: 1 })?;
    outcome?;
    print_places(&report.places[..options.places.min(report.places.len())], &report)?;
    let (seconds, steps) = (begin.elapsed().as_secs_f64(), report.steps as f64);
    writeln!(
        io::stdout(),
        "\nsimulated: {} with {} cores; {:.1} ms in {seconds:.1} s, {:.1} million steps, {:.1} million a second",
        options.machine,
        hardware.cores,
        report.time.as_secs_f64() * 1e3,
        steps / 1e6,
        steps / 1e6 / seconds
    )?;
    Ok(())
}

/// Prints the given places in the code, with the number and mean time of the waits for cache lines there, and the share
/// of all such waits.
fn print_places(places: &[Place], report: &Report) -> io::Result<()> {
    if places.is_empty() {
        return Ok(());
    }
    let all: Duration = report.places.iter().map(|place| place.waited).sum();
    let mut out = io::stdout();
    writeln!(out, "\nwhere threads waited for cache lines, loads and checks included:")?;
    for Place { at, accesses, waited } in places {
        let share = waited.as_secs_f64() / all.as_secs_f64().max(f64::MIN_POSITIVE) * 100.0;
        let each = waited.as_nanos() as f64 / *accesses as f64;
        let at = at.map_or_else(|| "plain loads and stores".to_owned(), |at| format!("{}:{}", at.file(), at.line()));
        writeln!(out, "{share:5.1} %  {accesses:>10} x {each:>8.0} ns  {at}")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_command_gives_the_same_report() {
        let line = "hotrow-sim bench ycsb --records 1000 --theta 0.9 --engine 2pl-waitdie,ilock,mvo,vll,orthrus \
                    --threads 5 --seconds 0.0002 --warmup 0.0001";
        let parsed = CommandLine::try_parse_from(line.split_whitespace()).expect("a good command line");
        let Command::Bench { workload, .. } = parsed.command else { unreachable!("it is `bench`") };
        let mut hardware = machine("vll").expect("a machine that is known");
        hardware.cores = 5;
        let report = || {
            let (mut report, mut outcome) = (Vec::new(), Ok(()));
            let ran = machine::run_timed(&hardware, || {
                let mut out = Vec::new();
                let result = bench(&workload, &mut out, &Interrupt::new());
                machine::outside(|| {
                    report = out.clone();
                    outcome = result.as_ref().map(drop).map_err(ToString::to_string);
                });
            });
            ran.expect("no thread panics");
            outcome.expect("all checks are passed");
            String::from_utf8(report).expect("a text")
        };
        let first = report();
        assert!(first.contains("orthrus") && !first.contains("FAILED"), "{first}");
        assert_eq!(first, report());
    }
}
