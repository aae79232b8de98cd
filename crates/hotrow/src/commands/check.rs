//! The command `hotrow check`, which checks whether transactions were isolated.

use super::Failure;
use clap::ArgGroup;
use clap::builder::PossibleValuesParser;
use hotrow_bench::trial::{Trial, TrialWorkload, run_trial};
use hotrow_check::{About, Evidence, History, Objection, check, check_at, read_history, write_history};
use hotrow_txn::{Isolation, number_of};
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Instant;

/// The options of `hotrow check`: the recorded history or the engines to check, and the transactions to run on the
/// engines.
#[derive(clap::Args)]
#[command(group = ArgGroup::new("what").required(true).args(["file", "engines"]))]
pub struct Options {
    /// Check the transactions that this file has recorded
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,

    /// Check these engines: threads run random transactions on each, and the recorded reads and writes are checked
    #[arg(long = "engine", value_name = "NAME,…", value_delimiter = ',', hide_possible_values = true)]
    #[arg(value_parser = engine_names())]
    engines: Vec<String>,

    /// Isolation level. With FILE: check all transactions at this level [default: each at its own]. With --engine: run
    /// all transactions at this level, or each at a random one of the engine's levels if it is `mixed`
    /// [default: one run for each level of the engine, and one for `mixed`]
    #[arg(long, value_name = "LEVEL")]
    isolation: Option<Levels>,

    /// Workload to run on the engines [default: one run for each workload]
    #[arg(long, value_name = "NAME", conflicts_with = "file")]
    workload: Option<TrialWorkload>,

    /// Threads of each run
    #[arg(long, value_name = "N", default_value_t = 4, allow_negative_numbers = true, conflicts_with = "file")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=256))]
    threads: u32,

    /// Transactions of each run
    #[arg(long, value_name = "N", default_value_t = 20_000, allow_negative_numbers = true, conflicts_with = "file")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    transactions: u64,

    /// Seed of the random transactions
    #[arg(long, value_name = "N", default_value_t = 1, conflicts_with = "file")]
    seed: u64,

    /// Write the recorded history to this file; needs a single engine, --workload and --isolation
    #[arg(long, value_name = "FILE", conflicts_with = "file", requires_all = ["workload", "isolation"])]
    save: Option<PathBuf>,

    /// Fail if less than this share of the transactions committed, because such a history proves little. A history in
    /// which no transaction depends on another fails in any case
    #[arg(long, value_name = "PERCENT", default_value_t = 10.0, allow_negative_numbers = true, value_parser = parse_percent)]
    least_committed: f64,
}

/// One isolation level, or several in one history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Levels {
    One(Isolation),
    Mixed,
}

impl FromStr for Levels {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.trim().eq_ignore_ascii_case("mixed") {
            true => Ok(Levels::Mixed),
            false => text.parse().map(Levels::One).map_err(|error: String| format!("{error}, or mixed")),
        }
    }
}

impl Levels {
    fn name(self) -> &'static str {
        match self {
            Levels::One(level) => level.name(),
            Levels::Mixed => "mixed levels",
        }
    }
}

fn engine_names() -> PossibleValuesParser {
    PossibleValuesParser::new(hotrow_protocols::ENGINES.iter().map(|info| info.name))
}

fn parse_percent(text: &str) -> Result<f64, String> {
    let percent: f64 = text.parse().map_err(|_| "expected a number".to_owned())?;
    if (0.0..=100.0).contains(&percent) { Ok(percent) } else { Err(format!("{percent} is not within 0 and 100")) }
}

/// Runs `hotrow check`, and prints the verdicts on `out`.
///
/// # Errors
/// [`Failure::Failed`] if a history is not isolated, is undecided or proves too little, [`Failure::Usage`] if a file
/// cannot be read.
pub fn run(options: &Options, out: &mut dyn Write) -> Result<(), Failure> {
    match &options.file {
        Some(file) => judge_file(options, file, out),
        None => try_engines(options, out),
    }
}

fn judge_file(options: &Options, path: &Path, out: &mut dyn Write) -> Result<(), Failure> {
    let unreadable = |what: String| Failure::Usage(format!("{}: {what}", path.display()));
    let file = File::open(path).map_err(|error| unreadable(error.to_string()))?;
    let (about, history) = read_history(&mut BufReader::new(file)).map_err(|error| unreadable(error.to_string()))?;
    let judged = match options.isolation {
        Some(Levels::One(level)) => check_at(&history, level),
        Some(Levels::Mixed) | None => check(&history),
    };
    let level = match options.isolation {
        Some(Levels::One(level)) => format!("judged at {level}"),
        Some(Levels::Mixed) | None => "each transaction judged at its own level".to_owned(),
    };
    let title = format!("{}: {}, {}; {level}", path.display(), about.engine, about.made_by);
    match report(options, &title, judged, out).map_err(Failure::Output)? {
        true => Ok(()),
        false => Err(Failure::Failed(format!("{} is not what it should be", path.display()))),
    }
}

fn try_engines(options: &Options, out: &mut dyn Write) -> Result<(), Failure> {
    if options.save.is_some() && options.engines.len() > 1 {
        return Err(Failure::Usage(format!("--save takes one engine, not {}", options.engines.join(", "))));
    }
    let (mut runs, mut failed) = (0, 0);
    for name in &options.engines {
        let engine = hotrow_protocols::ENGINES.iter().find(|info| info.name == name);
        let offered = engine.map_or(&[][..], |info| info.isolation);
        let every = || offered.iter().copied().map(Levels::One).chain((offered.len() > 1).then_some(Levels::Mixed));
        let levels = options.isolation.map_or_else(|| every().collect(), |levels| vec![levels]);
        for levels in levels {
            for &workload in options
                .workload
                .as_ref()
                .map_or(<TrialWorkload as clap::ValueEnum>::value_variants(), std::slice::from_ref)
            {
                runs += 1;
                failed += u32::from(!try_engine(options, name, levels, workload, out)?);
            }
        }
    }
    match failed {
        0 => Ok(()),
        _ => Err(Failure::Failed(format!("{failed} of {} not what it should be", number_of(runs, "run")))),
    }
}

/// Runs one trial and prints its verdict. Returns whether the history is valid and enough of its transactions
/// committed; `false` also if the trial itself failed.
fn try_engine(
    options: &Options,
    name: &str,
    levels: Levels,
    workload: TrialWorkload,
    out: &mut dyn Write,
) -> Result<bool, Failure> {
    let isolation = match levels {
        Levels::One(level) => Some(level),
        Levels::Mixed => None,
    };
    let (threads, transactions, seed) = (options.threads as usize, options.transactions, options.seed);
    let began = Instant::now();
    let history = match run_trial(name, &Trial { workload, isolation, threads, transactions, seed }) {
        Ok(history) => history,
        Err(what) => {
            writeln!(out, "{name}, {}, {}: FAILED\n  {what}", levels.name(), workload.name())
                .map_err(Failure::Output)?;
            return Ok(false);
        }
    };
    let ran = began.elapsed();
    if let Some(path) = &options.save {
        save(path, name, levels, workload, options, &history)
            .map_err(|error| Failure::Failed(format!("{} could not be written: {error}", path.display())))?;
    }
    let began = Instant::now();
    let judged = check(&history);
    let title = format!(
        "{name}, {}, {}: {}, ran {:.1} s, judged in {:.1} s",
        levels.name(),
        workload.name(),
        number_of(threads, "thread"),
        ran.as_secs_f64(),
        began.elapsed().as_secs_f64()
    );
    report(options, &title, judged, out).map_err(Failure::Output)
}

fn save(
    path: &Path,
    name: &str,
    levels: Levels,
    workload: TrialWorkload,
    options: &Options,
    history: &History,
) -> io::Result<()> {
    let made_by = format!(
        "hotrow check --engine {name} --isolation {} --workload {} --threads {} --transactions {} --seed {}",
        levels.name().replace(" levels", "").replace(' ', "-"),
        workload.name(),
        options.threads,
        options.transactions,
        options.seed
    );
    let mut out = BufWriter::new(File::create(path)?);
    write_history(&mut out, &About { engine: name.to_owned(), made_by }, history)?;
    out.flush()
}

/// Prints a verdict. Returns `false` if the history is not isolated or remains undecided, or if it proves too little.
fn report(
    options: &Options,
    title: &str,
    judged: Result<Evidence, Objection>,
    out: &mut dyn Write,
) -> io::Result<bool> {
    writeln!(out, "{title}")?;
    let evidence = match judged {
        Ok(evidence) => evidence,
        Err(Objection::Anomaly(anomaly)) => {
            let story = anomaly.to_string();
            writeln!(out, "  NOT ISOLATED")?;
            story.lines().try_for_each(|line| writeln!(out, "  {line}"))?;
            return Ok(false);
        }
        Err(Objection::Undecided) => {
            writeln!(out, "  UNDECIDED: the trials ran out before the history was explained or refuted")?;
            return Ok(false);
        }
    };
    evidence.to_string().lines().try_for_each(|line| writeln!(out, "  {line}"))?;
    let percent = evidence.committed_percent();
    if percent < options.least_committed {
        writeln!(
            out,
            "  TOO LITTLE: {percent:.1} % committed, less than {} % (--least-committed): no anomaly was found, but little \
             was tried",
            options.least_committed
        )?;
        return Ok(false);
    }
    if evidence.dependencies() == 0 {
        writeln!(out, "  TOO LITTLE: no transaction depends on another, so there was nothing to isolate")?;
        return Ok(false);
    }
    writeln!(out, "  valid")?;
    Ok(true)
}
