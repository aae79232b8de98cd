//! The settings that the server knows: their names, types and defaults.
//!
//! Most of PostgreSQL's settings have no effect here: those of its planner, of its processes and of its memory. Clients
//! may set them all the same.

use super::{CONCURRENCY, EARLY_RELEASE, EXCLUSIVE_IDLE_TIMEOUT, HOT, SERVER_VERSION, SYNCHRONOUS_COMMIT};
use crate::schema::SEARCH_PATH;
use crate::setting_value::{parse_duration, parse_memory};

/// The type of a setting's values, which determines how they are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Any text.
    Text,
    /// `on` or `off`.
    Bool,
    /// A duration. A number without a unit counts milliseconds.
    Duration,
    /// An encoding, of which there is only UTF8.
    Encoding,
    /// A time zone.
    TimeZone,
    /// An isolation level.
    Isolation,
    /// `default`, `optimistic`, `pessimistic` or `mixed`.
    Concurrency,
    /// `on`, `off`, or a word that says what standbys must have done. There are no standbys, so that such a word means
    /// `on`.
    SynchronousCommit,
    /// A style of dates, and an order of day, month and year.
    DateStyle,
    /// One of PostgreSQL's words for the setting. The number says how many words, from the first, are supported. The
    /// others are refused.
    Word(&'static [&'static str], usize),
    /// A whole number from the first to the second, both included.
    Between(i32, i32),
    /// A number that is not negative: a cost of PostgreSQL's planner, which has no effect here.
    Cost,
    /// A size of memory. A number without a unit counts kilobytes.
    Memory,
    /// The role as which statements run. Only the session's user is accepted.
    Role,
    /// A list of schemas, such as that of `search_path`.
    Path,
    /// A value that cannot be set.
    Fixed,
    /// A value that cannot be set, because it shows the state of the session or the server.
    Reported,
}

pub(super) const DEFAULT_PATH: &str = "\"$user\", public";

/// A setting that the server knows, with its type and default.
#[derive(Debug)]
pub(crate) struct Known {
    /// The name of the setting, as SHOW displays it.
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) default: &'static str,
    /// Whether the client is informed of each change of the value (ParameterStatus).
    pub(super) reported: bool,
}

impl Known {
    /// Returns the columns `vartype` and `unit` of the setting in `pg_settings`.
    pub(crate) fn vartype(&self) -> (&'static str, Option<&'static str>) {
        match self.kind {
            Kind::Bool => ("bool", None),
            Kind::Between(..) => ("integer", None),
            Kind::Cost => ("real", None),
            Kind::Memory => ("integer", Some("kB")),
            Kind::Duration => ("integer", Some("ms")),
            Kind::Encoding | Kind::TimeZone | Kind::DateStyle | Kind::Path | Kind::Text | Kind::Role => {
                ("string", None)
            }
            Kind::Fixed | Kind::Reported => ("string", None),
            Kind::Isolation | Kind::Concurrency | Kind::SynchronousCommit | Kind::Word(..) => ("enum", None),
        }
    }

    /// Returns the column `context` of `pg_settings`: `internal` if the setting cannot be set, and `user` otherwise.
    pub(crate) fn context(&self) -> &'static str {
        if matches!(self.kind, Kind::Fixed | Kind::Reported) { "internal" } else { "user" }
    }

    /// Returns the setting's default value.
    pub(crate) fn default(&self) -> &'static str {
        self.default
    }

    /// Returns a value as `pg_settings` shows it: a duration in milliseconds and a size in kilobytes, without the unit.
    pub(crate) fn in_unit(&self, value: &str) -> String {
        if let Some(kilobytes) = parse_memory(value).filter(|_| self.kind == Kind::Memory) {
            return kilobytes.to_string();
        }
        match parse_duration(value).filter(|_| self.kind == Kind::Duration) {
            Some(duration) => duration.as_millis().to_string(),
            None => value.to_owned(),
        }
    }
}

const fn known(name: &'static str, kind: Kind, default: &'static str) -> Known {
    Known { name, kind, default, reported: false }
}

const fn reported(name: &'static str, kind: Kind, default: &'static str) -> Known {
    Known { name, kind, default, reported: true }
}

/// The values of `IntervalStyle`.
const INTERVAL_STYLES: &[&str] = &["postgres", "postgres_verbose", "sql_standard", "iso_8601"];

/// The values of `client_min_messages`. The first lets through most messages.
pub(super) const LEVELS: &[&str] =
    &["debug5", "debug4", "debug3", "debug2", "debug1", "debug", "log", "notice", "warning", "error"];

pub(super) const KNOWN: &[Known] = &[
    reported("application_name", Kind::Text, ""),
    known("backslash_quote", Kind::Word(&["safe_encoding", "on", "off"], 2), "safe_encoding"),
    known("bytea_output", Kind::Word(&["hex", "escape"], 2), "hex"),
    known("check_function_bodies", Kind::Bool, "on"),
    reported("client_encoding", Kind::Encoding, "UTF8"),
    known("client_min_messages", Kind::Word(LEVELS, LEVELS.len()), "notice"),
    known("constraint_exclusion", Kind::Word(&["partition", "on", "off"], 3), "partition"),
    known("cpu_index_tuple_cost", Kind::Cost, "0.005"),
    known("cpu_operator_cost", Kind::Cost, "0.0025"),
    known("cpu_tuple_cost", Kind::Cost, "0.01"),
    known("cursor_tuple_fraction", Kind::Cost, "0.1"),
    known("data_directory", Kind::Reported, ""),
    reported("DateStyle", Kind::DateStyle, "ISO, MDY"),
    known("deadlock_timeout", Kind::Duration, "1s"),
    known("default_table_access_method", Kind::Word(&["heap"], 1), "heap"),
    known("default_tablespace", Kind::Word(&["", "pg_default"], 2), ""),
    known("default_toast_compression", Kind::Word(&["pglz"], 1), "pglz"),
    known("default_transaction_deferrable", Kind::Bool, "off"),
    known("default_transaction_isolation", Kind::Isolation, "read committed"),
    reported("default_transaction_read_only", Kind::Bool, "off"),
    known("enable_async_append", Kind::Bool, "on"),
    known("enable_bitmapscan", Kind::Bool, "on"),
    known("enable_gathermerge", Kind::Bool, "on"),
    known("enable_hashagg", Kind::Bool, "on"),
    known("enable_hashjoin", Kind::Bool, "on"),
    known("enable_incremental_sort", Kind::Bool, "on"),
    known("enable_indexonlyscan", Kind::Bool, "on"),
    known("enable_indexscan", Kind::Bool, "on"),
    known("enable_material", Kind::Bool, "on"),
    known("enable_memoize", Kind::Bool, "on"),
    known("enable_mergejoin", Kind::Bool, "on"),
    known("enable_nestloop", Kind::Bool, "on"),
    known("enable_parallel_append", Kind::Bool, "on"),
    known("enable_parallel_hash", Kind::Bool, "on"),
    known("enable_partition_pruning", Kind::Bool, "on"),
    known("enable_partitionwise_aggregate", Kind::Bool, "off"),
    known("enable_partitionwise_join", Kind::Bool, "off"),
    known("enable_seqscan", Kind::Bool, "on"),
    known("enable_sort", Kind::Bool, "on"),
    known("enable_tidscan", Kind::Bool, "on"),
    known("escape_string_warning", Kind::Bool, "on"),
    known("extra_float_digits", Kind::Between(-15, 3), "1"),
    known("force_parallel_mode", Kind::Word(&["off", "on", "regress"], 3), "off"),
    known("from_collapse_limit", Kind::Between(1, i32::MAX), "8"),
    known("geqo", Kind::Bool, "on"),
    known("geqo_threshold", Kind::Between(2, i32::MAX), "12"),
    known("hash_mem_multiplier", Kind::Cost, "2"),
    known(CONCURRENCY, Kind::Concurrency, "default"),
    known(EARLY_RELEASE, Kind::Word(&["off", HOT], 2), "off"),
    known(EXCLUSIVE_IDLE_TIMEOUT, Kind::Duration, "1s"),
    known("hotrow.isolation", Kind::Reported, ""),
    known("hotrow.locks", Kind::Reported, ""),
    known("hotrow.log", Kind::Reported, ""),
    known("hotrow.memory", Kind::Reported, ""),
    known("hotrow.memory_limit", Kind::Reported, ""),
    known("hotrow.times", Kind::Reported, ""),
    known("hotrow.versions", Kind::Reported, ""),
    known("idle_in_transaction_session_timeout", Kind::Duration, "0"),
    known("idle_session_timeout", Kind::Duration, "0"),
    reported("in_hot_standby", Kind::Fixed, "off"),
    reported("integer_datetimes", Kind::Fixed, "on"),
    reported("IntervalStyle", Kind::Word(INTERVAL_STYLES, INTERVAL_STYLES.len()), "postgres"),
    reported("is_superuser", Kind::Fixed, "on"),
    known("jit", Kind::Bool, "off"),
    known("jit_above_cost", Kind::Cost, "100000"),
    known("jit_expressions", Kind::Bool, "on"),
    known("jit_inline_above_cost", Kind::Cost, "500000"),
    known("jit_optimize_above_cost", Kind::Cost, "500000"),
    known("jit_tuple_deforming", Kind::Bool, "on"),
    known("join_collapse_limit", Kind::Between(1, i32::MAX), "8"),
    known("lc_collate", Kind::Fixed, "C"),
    known("lc_ctype", Kind::Fixed, "C.UTF-8"),
    known("lc_messages", Kind::Text, "C"),
    known("lc_monetary", Kind::Text, "C"),
    known("lc_numeric", Kind::Text, "C"),
    known("lc_time", Kind::Text, "C"),
    known("lock_timeout", Kind::Duration, "0"),
    known("maintenance_work_mem", Kind::Memory, "64MB"),
    known("max_connections", Kind::Fixed, "100"),
    known("max_identifier_length", Kind::Fixed, "63"),
    known("max_parallel_maintenance_workers", Kind::Between(0, 1024), "2"),
    known("max_parallel_workers", Kind::Between(0, 1024), "8"),
    known("max_parallel_workers_per_gather", Kind::Between(0, 1024), "2"),
    known("parallel_leader_participation", Kind::Bool, "on"),
    known("parallel_setup_cost", Kind::Cost, "1000"),
    known("parallel_tuple_cost", Kind::Cost, "0.1"),
    known("password_encryption", Kind::Word(&["scram-sha-256", "md5"], 2), "scram-sha-256"),
    known("plan_cache_mode", Kind::Word(&["auto", "force_generic_plan", "force_custom_plan"], 3), "auto"),
    known("random_page_cost", Kind::Cost, "4"),
    known("role", Kind::Role, "none"),
    known("row_security", Kind::Bool, "on"),
    known(SEARCH_PATH, Kind::Path, DEFAULT_PATH),
    known("seq_page_cost", Kind::Cost, "1"),
    reported("server_encoding", Kind::Fixed, "UTF8"),
    reported("server_version", Kind::Fixed, SERVER_VERSION),
    known("server_version_num", Kind::Fixed, "150000"),
    reported("session_authorization", Kind::Role, ""),
    reported("standard_conforming_strings", Kind::Fixed, "on"),
    known("statement_timeout", Kind::Duration, "0"),
    known("synchronize_seqscans", Kind::Bool, "on"),
    known(SYNCHRONOUS_COMMIT, Kind::SynchronousCommit, "on"),
    reported("TimeZone", Kind::TimeZone, "UTC"),
    known("track_activities", Kind::Bool, "on"),
    known("track_counts", Kind::Bool, "on"),
    known("track_io_timing", Kind::Bool, "off"),
    known("transaction_deferrable", Kind::Bool, "off"),
    known("transaction_isolation", Kind::Isolation, "read committed"),
    known("transaction_read_only", Kind::Bool, "off"),
    known("vacuum_cost_limit", Kind::Between(1, 10_000), "200"),
    known("work_mem", Kind::Memory, "4MB"),
    known("xmloption", Kind::Word(&["content", "document"], 2), "content"),
];
