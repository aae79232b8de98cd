//! The names of what a workload can be run on: engines, the loops without an engine, managers of range locks, and
//! servers.
//!
//! The loops themselves are in a higher layer; their names are here because the command line is read first.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use hotrow_log::writer::Durability;
use hotrow_protocols::ENGINES;
use std::ffi::OsStr;

/// The engine that is run if the command line names none.
pub(crate) const DEFAULT_ENGINE: &str = "2pl-waitdie";

/// The name of the loop that runs YCSB without transactions.
pub(crate) const BARE: &str = "bare";

/// The names of the managers of range locks, on which the workload `range` is run.
pub(crate) const MANAGERS: [&str; 7] =
    ["vllr", "vllr-sca", "vllr-blocks", "vllr-blocks-sca", "standard", "hierarchical", "records"];

/// The execution models of `hotrow serve --execution`.
pub(crate) const EXECUTIONS: [&str; 3] = ["coroutine", "request", "thread"];

/// The durabilities that a name ENGINE@DURABILITY can contain, each with the log's value for it.
const DURABILITIES: [(&str, Durability); 3] =
    [("sync", Durability::Sync), ("async", Durability::Async), ("off", Durability::Off)];

/// Returns the engine in a name. The name is ENGINE, ENGINE:MODEL for a server with an execution model, or
/// ENGINE@DURABILITY for a database with a log.
pub(crate) fn engine_of(name: &str) -> &str {
    name.split_once([':', '@']).map_or(name, |(engine, _)| engine)
}

/// Returns the durability in a name ENGINE@DURABILITY, or `None` if the database is in memory only.
pub(crate) fn durability_of(name: &str) -> Option<Durability> {
    let (_, durability) = name.split_once('@')?;
    DURABILITIES.iter().find(|(known, _)| *known == durability).map(|(_, durability)| *durability)
}

/// Returns the execution model in a name ENGINE:MODEL, or `None` if the name has none.
pub(crate) fn execution_of(name: &str) -> Option<&str> {
    name.split_once(':').map(|(_, model)| model)
}

/// Returns the parser of names for one workload. It knows all engines, the bare loop and all managers of range locks,
/// so that a wrong choice is refused with a reason, but it lists the `offered` names only.
pub(crate) fn names_offering(offered: impl Fn(&str) -> bool) -> NameParser {
    let engines = ENGINES.iter().map(|info| info.name);
    let known = engines.chain([BARE]).chain(MANAGERS);
    NameParser(PossibleValuesParser::new(known.map(|name| PossibleValue::new(name).hide(!offered(name)))))
}

/// The parser of a name: ENGINE, ENGINE:MODEL or ENGINE@DURABILITY.
#[derive(Clone)]
pub(crate) struct NameParser(PossibleValuesParser);

impl TypedValueParser for NameParser {
    type Value = String;

    fn parse_ref(
        &self,
        command: &clap::Command,
        arg: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<String, clap::Error> {
        let text = value.to_str().unwrap_or_default();
        let (mark, suffixes, (engine, suffix)) = match (text.split_once(':'), text.split_once('@')) {
            (Some(parts), _) => (':', PossibleValuesParser::new(EXECUTIONS), parts),
            (None, Some(parts)) => ('@', PossibleValuesParser::new(DURABILITIES.map(|(name, _)| name)), parts),
            (None, None) => return self.0.parse_ref(command, arg, value),
        };
        let engine = self.0.parse_ref(command, arg, OsStr::new(engine))?;
        let suffix = suffixes.parse_ref(command, arg, OsStr::new(suffix))?;
        Ok(format!("{engine}{mark}{suffix}"))
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        self.0.possible_values()
    }
}

/// Whether the registry has an engine of this name.
pub(crate) fn is_engine(name: &str) -> bool {
    ENGINES.iter().any(|info| info.name == name)
}

/// Turns `--engine` into `--manager`, with `--engine` as its alias.
pub(crate) fn managers(arg: clap::Arg) -> clap::Arg {
    arg.long("manager")
        .alias("engine")
        .value_parser(names_offering(|name| MANAGERS.contains(&name)))
        .hide_possible_values(false)
        .help("Managers of range locks to run, one after the other [default: all that support the options]")
}
