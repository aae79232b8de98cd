//! A figure that is in no paper: engines over the range of contention, for choosing one.

use crate::reproduce::claim::{Claim, Finding, everywhere, leads};
use crate::reproduce::figure::{Figure, Paper};
use crate::reproduce::plan::{Chart, Panel, Plan, Point, Series};
use crate::reproduce::results::{At, Results};
use crate::reproduce::scale::Scale;

/// The source of figures that are in no paper.
static HOTROW: Paper = Paper { name: "hotrow", title: "Hotrow" };

pub(super) static FIGURE: Figure = Figure {
    id: "contention",
    paper: &HOTROW,
    place: "a figure of its own",
    title: "The engines from no contention to one hot row, and from one client to many",
    there: "In no paper. It is for choosing an engine, and holds us to it that more cores never make it slower.",
    here: "YCSB with ten operations in a transaction, half of them writes, serializable. (a) goes from keys that are \
           all alike to a few hot ones, on all cores; (b) from one thread to all cores, and (c) from one client to \
           many, which send statement by statement over TCP and share the machine with the server, at theta 0.99. One \
           at a time is the engine that lets in one transaction after the other: what every other one has to be worth. \
           Engines with a partition for each thread are left out, as every transaction would touch several, and so are \
           those that differ little from one that is here; row-nowait is left out of (c), as blocks that deadlock \
           there last for a second each.",
    plan,
    claims: &CLAIMS,
};

const ONE_AT_A_TIME: &str = "one at a time";
const DEFAULT: &str = "ilock";
const ORDERED: &str = "2pl-ordered";

/// The skews of the keys, from no skew to one at which about every fifth operation is on the same row.
const THETAS: [f64; 5] = [0.0, 0.6, 0.9, 0.99, 1.2];

/// The skew in the panels that vary threads or clients.
const THETA: f64 = 0.99;

/// The engines that find the deadlocks of blocks of statements, or cannot have any.
const ENGINES: [&str; 9] = ["ilock", "1v", "2pl-waitdie", "2pl-waitfor", "2pl-ordered", "vll", "vll-sca", "mvo", "mvl"];
const NOWAIT: &str = "row-nowait";

fn engines(with_nowait: bool) -> Vec<Series> {
    let engines = ENGINES.into_iter().chain(with_nowait.then_some(NOWAIT)).map(|name| Series::throughput(name, name));
    std::iter::once(Series::reference(ONE_AT_A_TIME, "serial")).chain(engines).collect()
}

fn plan(scale: &Scale) -> Plan {
    let rows = format!("ycsb --records {}", scale.pick(1_000_000, 100_000, 500));
    let over_wire = format!("ycsb --over-wire --records {}", scale.pick(100_000, 10_000, 500));
    let skew = |theta: f64| Point {
        x: theta,
        label: theta.to_string(),
        rows: rows.clone(),
        options: format!("--theta {theta} --threads {}", scale.cores),
    };
    let threads = |threads| Point::at(threads, &rows, format!("--theta {THETA} --threads {threads}"));
    let clients = |clients| Point::at(clients, &over_wire, format!("--theta {THETA} --clients {clients} --threads 1"));
    let up_to_cores = scale.thread_counts().into_iter().filter(|&threads| threads <= scale.cores);
    let panel = |id, title: &str, points, with_nowait| Panel {
        id,
        title: title.to_owned(),
        points,
        series: engines(with_nowait),
    };
    Plan {
        chart: Chart::CurvesOver { x: &["theta", "threads", "clients"] },
        value: "thousand transactions per second",
        stretch: 1,
        panels: vec![
            panel("a", "native, all cores", THETAS.map(skew).to_vec(), true),
            panel("b", "native, theta 0.99", up_to_cores.map(threads).collect(), true),
            panel("c", "over the wire, theta 0.99", counts(scale).iter().copied().map(clients).collect(), false),
        ],
    }
}

/// Returns the numbers of clients of panel (c).
fn counts(scale: &Scale) -> &'static [u64] {
    scale.pick(&[1, 4, 8, 64, 300], &[4, 64], &[1, 20])
}

static CLAIMS: [Claim; 3] = [
    Claim {
        text: "At any skew some engine is worth at least as much as one at a time.",
        criterion: "At every point of (a) the best engine is at least 1.00 times one at a time.",
        judge: best,
        otherwise: "Where every transaction writes one row, none can run beside another, and to lock costs something.",
        weaker: None,
    },
    Claim {
        text: "No engine is slower on all cores than on one.",
        criterion: "In (b) each engine has with the most threads at least 1.00 times what it has with one.",
        judge: scales,
        otherwise: "Where a row passes from core to core with every transaction, its lines do, too.",
        weaker: None,
    },
    Claim {
        text: "Over the wire the default engine keeps up with one that shuts everybody out during a block.",
        criterion: "At every point of (c) ilock is at least 0.80 times 2pl-ordered.",
        judge: |results| leads(results, "c", everywhere(results, "c"), DEFAULT, &[ORDERED], 0.8),
        otherwise: "Transactions that deadlock are tried again, and a short run is over before admission has settled.",
        weaker: None,
    },
];

/// Decides whether the best engine at each skew is at least as fast as the engine that runs one transaction at a time.
/// The evidence names the best engines.
fn best(results: &Results) -> Option<Finding> {
    let (mut holds, mut evidence) = (true, Vec::new());
    for at in everywhere(results, "a") {
        let names = engines(true).into_iter().map(|series| series.name).filter(|&name| name != ONE_AT_A_TIME);
        let medians = names.map(|name| Some((results.median("a", name, at)?, name)));
        let medians: Vec<_> = medians.collect::<Option<_>>()?;
        let (_, name) = medians.into_iter().max_by(|one, other| one.0.total_cmp(&other.0))?;
        let ratio = results.ratio("a", at, name, ONE_AT_A_TIME)?;
        holds &= ratio >= 1.0;
        evidence.push(format!("{name} is {ratio:.2} times at {}", results.label("a", at)));
    }
    Some(Finding { holds, evidence: evidence.join(", ") })
}

/// Decides whether every engine has at least as much throughput with the most threads as with one. The evidence is the
/// ratio of each engine.
fn scales(results: &Results) -> Option<Finding> {
    let of = |series: Series| {
        let medians = [At::First, At::Last].map(|at| results.median("b", series.name, at));
        let [Some(one), Some(all)] = medians else { return None };
        Some((all / one.max(f64::MIN_POSITIVE), series.name))
    };
    let engines = engines(true).into_iter().filter(|series| !series.is_reference);
    let mut ratios: Vec<_> = engines.map(of).collect::<Option<_>>()?;
    ratios.sort_by(|one, other| one.0.total_cmp(&other.0));
    let holds = ratios.iter().all(|&(ratio, _)| ratio >= 1.0);
    let evidence = ratios.iter().map(|(ratio, name)| format!("{name} {ratio:.2}")).collect::<Vec<_>>().join(", ");
    Some(Finding { holds, evidence })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::claim::tests::check;
    use crate::reproduce::results::tests::made_up;

    #[test]
    fn engines_that_grow_confirm_the_claims_and_such_as_fall_refute_them() {
        check(
            &FIGURE,
            |made| match made.series {
                ONE_AT_A_TIME => 8.0,
                _ => 10.0 + made.way,
            },
            &[true; 3],
        );
        check(
            &FIGURE,
            |made| match made.series {
                ONE_AT_A_TIME => 8.0,
                ORDERED => 7.0,
                _ => 10.0 - 5.0 * made.way,
            },
            &[false; 3],
        );
        // One engine that falls suffices.
        let falls = |name: &str| if name == "vll" { -1.0 } else { 1.0 };
        check(&FIGURE, |made| 10.0 + falls(made.series) * made.way, &[true, false, true]);
    }

    #[test]
    fn the_evidence_says_which_engine_to_take_where() {
        let results = made_up(&FIGURE, |made| match (made.series, made.way < 0.5) {
            ("1v", true) | ("ilock", false) => 20.0,
            _ => 10.0,
        });
        let Finding { evidence, .. } = best(&results).expect("it is complete");
        assert!(
            evidence.starts_with("1v is 2.00 times at 0,") && evidence.ends_with("ilock is 2.00 times at 1.2"),
            "{evidence}"
        );
    }
}
