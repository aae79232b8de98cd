//! The anomalies that an engine does not show though its level permits them, with the reasons. The list is exact: an
//! anomaly on it must not appear, and one that is permitted and not on it must.

use hotrow_txn::Isolation;

/// Scripts whose anomaly these engines prevent although the level permits it.
pub struct Stronger {
    pub engines: &'static [&'static str],
    pub level: Isolation,
    pub reason: &'static str,
    pub scripts: &'static [&'static str],
}

/// The scripts whose anomalies engines prevent although their level permits them.
pub const STRONGER: &[Stronger] = &[
    Stronger {
        engines: &["mvo", "mvl"],
        level: Isolation::ReadCommitted,
        reason: "a scan reads as of one moment, where one that locks waits in its middle",
        scripts: &["G-single: one question, and an answer that was never true"],
    },
    Stronger {
        engines: &["mvo", "mvl"],
        level: Isolation::ReadCommitted,
        reason: "a write that waited for another transaction begins again, and reads as of a later moment",
        scripts: &["PMP: a write that misses what was there all the time"],
    },
    Stronger {
        engines: &["mvl"],
        level: Isolation::RepeatableRead,
        reason: "who writes a row that somebody else has written, and has not committed, does not wait and go on",
        scripts: &["PMP: a write that misses what was there all the time"],
    },
    Stronger {
        engines: &["mvo"],
        level: Isolation::RepeatableRead,
        reason: "all reads are as of the beginning, so that no rows join those that were read",
        scripts: &[
            "PMP: one question, and more rows the second time",
            "PMP: a range of values, and more rows the second time",
            "PMP: a range that a row moves into",
            "PMP: the least value, and another one the second time",
            "PMP: a range that was read to be changed",
            "PMP: a write that finds more rows than the read before it",
            "PMP: a write that misses what was there all the time",
            "G-single: nothing found, and then a row that came with it",
        ],
    },
    Stronger {
        engines: &["mvo"],
        level: Isolation::RepeatableRead,
        reason: "a key is not refused for a row that the transaction cannot see: it fails with 40001",
        scripts: &["PMP: a key that was free, and is refused"],
    },
    Stronger {
        engines: &["mvo", "mvl"],
        level: Isolation::Snapshot,
        reason: "a key is not refused for a row that the transaction cannot see: it fails with 40001",
        scripts: &["PMP: a key that was free, and is refused"],
    },
];

/// Why an engine does not show what its level permits, if so it is.
pub fn reason(engine: &str, level: Isolation, script: &str) -> Option<&'static str> {
    let lists =
        |entry: &&Stronger| entry.engines.contains(&engine) && entry.level == level && entry.scripts.contains(&script);
    STRONGER.iter().find(lists).map(|entry| entry.reason)
}
