//! Tests the program as a user sees it: its output, and its exit codes.

use serde_json::Value;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

fn hotrow(line: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hotrow"));
    command.args(line.split_whitespace()).stdin(Stdio::null()).output().expect("the program starts")
}

/// Runs a command line, and checks its exit code and that it printed each of `expected`, on either stream.
fn check(line: &str, code: i32, expected: &[&str]) {
    let output = hotrow(line);
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "hotrow {line}\n{text}");
    for expected in expected {
        assert!(text.contains(expected), "hotrow {line}: {expected:?} is not in\n{text}");
    }
}

/// A file for one test's output.
fn output_file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name)
}

fn engines() -> Vec<Value> {
    let output = hotrow("engines --json");
    assert!(output.status.success());
    let list: Value = serde_json::from_slice(&output.stdout).expect("a JSON document");
    list.as_array().expect("an array").clone()
}

fn engine_names() -> Vec<String> {
    engines().iter().map(|engine| engine["name"].as_str().expect("a name").to_owned()).collect()
}

/// The engines that can have a workload's tables: engines with partitions need partition keys.
fn engines_for(workload: &str) -> Vec<String> {
    let partitioned = ["ycsb", "interactive", "micro", "tatp", "bimodal", "tpcc", "transfers"].contains(&workload);
    let mut engines = engines();
    engines.retain(|engine| partitioned || engine["keeps_partitions"] == false);
    engines.iter().map(|engine| engine["name"].as_str().expect("a name").to_owned()).collect()
}

/// Runs a short benchmark on every engine that can run it.
fn run_all(workload: &str, json: &str) -> Vec<Value> {
    let file = output_file(json);
    let engines = engines_for(workload.split(' ').next().unwrap_or_default()).join(",");
    let line =
        format!("bench {workload} --engine {engines} --threads 2 --seconds 0.1 --warmup 0 --json {}", file.display());
    check(&line, 0, &["txn/s", "cpu µs", "2pl-waitdie", "serial"]);
    let text = std::fs::read(file).expect("the file is there");
    let runs: Value = serde_json::from_slice(&text).expect("a JSON document");
    runs.as_array().expect("an array").clone()
}

#[test]
fn without_a_command_it_says_how_to_start() {
    check("", 0, &["hotrow serve", "hotrow bench ycsb", "hotrow reproduce", "hotrow engines"]);
    check("--help", 0, &["serve", "bench", "engines"]);
    check("--version", 0, &["hotrow 0."]);
}

#[test]
fn a_wrong_command_line_says_what_was_expected() {
    for (line, expected) in [
        ("sever", &["unrecognized", "serve, backup, restore, log, bench, check"][..]),
        ("bench", &["ycsb", "tpcb"]),
        ("bench tpcz", &["unrecognized", "expected one of: ycsb, interactive, tpcb"]),
        ("bench ycsb --engine 2pl-waitdye", &["invalid value", "2pl-waitdie", "serial", "similar"]),
        ("bench ycsb --engine none,", &["a value is required", "2pl-waitdie"]),
        ("bench ycsb --threads -1", &["-1 is not in 1..=4096"]),
        ("bench ycsb --threads 0", &["0 is not in 1..=4096"]),
        ("bench ycsb --threads two", &["invalid digit"]),
        ("bench ycsb --scheduler fibers", &["possible values", "thread", "pool"]),
        ("bench ycsb --spin-us -1", &["-1 is not in 0..=60000000"]),
        ("bench ycsb --slots 0", &["0 is not in 1..=62"]),
        ("bench ycsb --slots 63", &["63 is not in 1..=62"]),
        ("bench ycsb --blocked-limit 0", &["0 is not in 1.."]),
        ("bench ycsb --engine-partitions 0", &["0 is not in 1.."]),
        ("bench ycsb --network-delay-us -1", &["-1 is not in 0..=10000000"]),
        ("bench ycsb --network-delay-us 1e9", &["invalid digit"]),
        ("bench ycsb --seconds 0", &["more than 0 seconds"]),
        ("bench ycsb --seconds -3", &["not within 0 and 86400"]),
        ("bench ycsb --seconds soon", &["expected a number of seconds"]),
        ("bench ycsb --warmup inf", &["not within 0 and 86400"]),
        ("bench ycsb --theta 6", &["not within 0 and 5"]),
        ("bench ycsb --theta -1", &["not within 0 and 5"]),
        ("bench ycsb --read-ratio 2", &["not within 0 and 1"]),
        ("bench ycsb --records 0", &["0 is not in 1.."]),
        ("bench ycsb --records 100000000000", &["100000000000 rows of about", "GiB"]),
        ("bench ycsb --fields 1000 --value-bytes 1000000", &["1000000 rows of about", "GiB"]),
        ("bench ycsb --records 4", &["--ops 10", "--records is 4"]),
        ("bench ycsb --value-bytes 0", &["0 is not in 9.."]),
        ("bench ycsb --hot-records 1", &["--hot-ops 2 is more than --hot-records 1"]),
        ("bench ycsb --isolation chaos", &["expected one of", "read committed", "serializable"]),
        ("bench ycsb --repetitions 0", &["0 is not in 1.."]),
        ("bench ycsb --scale 3", &["unexpected argument '--scale'"]),
        ("bench tpcb --scale 0", &["0 is not in 1..=19999"]),
        ("bench tpcb --scale 20000", &["20000 is not in 1..=19999"]),
        ("bench tpcb --engine bare --scale 1", &["bare runs ycsb only, not tpcb"]),
        (
            "bench tpcb --engine none,vll-st",
            &["engine vll-st does not run tpcb: table pgbench_branches", "partition key"],
        ),
        ("bench hekaton --engine vll-st-sca", &["engine vll-st-sca does not run hekaton", "partition key"]),
        ("bench micro --engine 2pl-st --threads 2 --engine-partitions 3", &["3 partitions", "2"]),
        ("bench micro --engine vll-st --engine-partitions 0", &["0 is not in 1.."]),
        ("bench micro --engine vll-st --threads 2 --partitions 3", &["3 partitions", "2"]),
        ("bench micro --network-delay-us 1s", &["invalid digit"]),
        ("bench ycsb --engine ilock@sync", &["ilock@sync has a log", "expected --data DIR"]),
        ("bench ycsb --engine ilock@soon --data x", &["invalid value 'soon'", "possible values: sync, async, off"]),
        ("bench ycsb --engine ilock --data x", &["--data means nothing", "ilock@sync, ilock@async or ilock@off"]),
        ("bench ycsb --engine bare@sync --data x", &["bare@sync: only an engine can have a log"]),
        ("bench ycsb --over-wire --engine ilock@sync", &["ilock@sync is for runs in this process", "expected ilock"]),
        ("bench ycsb --over-wire --engine ilock --data x", &["--data means nothing with --over-wire"]),
        ("bench ycsb --engine orthrus --threads 2 --cc-threads 2", &["2 threads leave none", "expected 0 to 1"]),
        ("bench ycsb --engine orthrus --cc-threads -1", &["-1 is not in 0..1024"]),
        ("bench ycsb --escalate-after -1", &["-1 is not in 0.."]),
        ("bench ycsb --escalate-after many", &["invalid digit"]),
        ("bench ycsb --hot-percent 101", &["101 is not in 0..=100"]),
        ("bench ycsb --hot-percent -1", &["-1 is not in 0..=100"]),
        ("bench tatp --assign by-kind", &["possible values", "random", "by-type"]),
        ("bench ycsb --engine orthrus --exec-threads 1", &["required arguments", "--cc-threads <N>"]),
        ("bench ycsb --cc-threads 1 --exec-threads 1 --threads 3", &["cannot be used with '--threads"]),
        ("bench micro --lock-only --work-us 5", &["cannot be used with '--work-us"]),
        ("bench micro --partitions 2 --multi-partition 0.5 --hot-ops 6", &["--ops 10 are too few for --hot-ops 6"]),
        ("bench tpcc --warehouses 0", &["0 is not in 1..=100000"]),
        ("bench tpcc --mix all", &["possible values", "full", "neworder-payment"]),
        ("bench tpcc --remote-payment 1.5", &["1.5 is not within 0 and 1"]),
        ("bench tpcc --warehouses 2 --check-sample 3", &["--check-sample 3 is more than there are: --warehouses is 2"]),
        ("bench tatp --subscribers 0", &["0 is not in 1..=2147483647"]),
        ("bench tatp --mix all", &["possible values", "standard", "forward", "update-location"]),
        ("bench micro --short --long", &["cannot be used with '--long'"]),
        ("bench micro --records 1000", &["--records 1000 in 1 partition are too few", "at least 1009"]),
        (
            "bench range --engine 2pl-waitdie",
            &[
                "range is not run by engine 2pl-waitdie",
                "--manager vllr,vllr-sca,vllr-blocks,vllr-blocks-sca,standard,hierarchical,records",
            ],
        ),
        ("bench range --manager vllr --threads 2", &["range is driven by one thread: --threads 1, not 2"]),
        ("bench range --manager vllr --prefix-bits 33", &["--key-bits 32 are too few"]),
        ("bench range --manager vllr --key-bits 65", &["65 is not in 1..=64"]),
        ("bench range --manager records", &["--key-bits up to 20, not 32"]),
        ("bench micro --engine standard", &["standard runs range only, not micro"]),
        ("bench hekaton --rows 100", &["--rows 100 are too few", "at least 120"]),
        ("bench hekaton --long-readers 2 --threads 1", &["more than the 1 worker thread: --threads 2 is needed"]),
        ("engines --yaml", &["unexpected argument '--yaml'"]),
    ] {
        check(line, 2, expected);
    }
}

#[test]
fn engines_with_a_log_are_compared_with_those_in_memory() {
    let (json, data) = (output_file("logged.json"), output_file("logged"));
    let line = format!(
        "bench tpcb --engine ilock,ilock@sync,mvo@async,2pl-waitdie@off --data {} --threads 2 --seconds 0.2 --warmup 0 \
         --json {}",
        data.display(),
        json.display()
    );
    check(&line, 0, &["ilock@sync: ", "mvo@async: ", " records of ", " writes, ", "2pl-waitdie@off"]);
    let runs: Value = serde_json::from_slice(&std::fs::read(json).expect("the file is there")).expect("a document");
    assert!(runs[0]["log"].is_null());
    for (run, durability) in [(1, "sync"), (2, "async"), (3, "off")] {
        let run = &runs[run];
        assert_eq!(run["log"]["durability"], durability);
        assert!(run["log"]["records"].as_u64() > Some(0) && run["log"]["flushes"].as_u64() > Some(0), "{run}");
        assert_eq!(run["consistency"], "ok");
    }
    assert_eq!(std::fs::read_dir(data).expect("the folder is left").count(), 0, "the runs' folders are removed");
}

#[test]
fn a_wrong_line_of_serve_says_what_was_expected() {
    for (line, expected) in [
        ("serve --engine none", &["does not isolate", "2pl-timeout"][..]),
        ("serve --engine best", &["invalid value", "2pl-timeout"]),
        ("serve --listen nowhere", &["nowhere", "ADDRESS:PORT"]),
        ("serve --isolation none", &["expected one of", "read committed"]),
        ("serve --max-connections 0", &["0 is not in 1.."]),
        ("serve --metrics here", &["expected ADDRESS:PORT"]),
        ("serve --execution fibre", &["invalid value", "coroutine, request, thread"]),
        ("serve --threads 0", &["0 is not in 1.."]),
        ("serve --io fast", &["invalid value", "worker, handoff"]),
        ("serve --io handoff --execution request", &["--io handoff means nothing without coroutines"]),
        ("serve --io handoff --execution thread", &["it is for --execution coroutine"]),
        ("serve --memory-limit lots", &["expected a number of bytes with a unit, such as 512MiB"]),
        ("serve --memory-limit -1", &["expected a number of bytes with a unit"]),
        ("serve --memory-limit 99999999999g", &["expected a number of bytes with a unit"]),
        ("serve --reserved-connections 5 --max-connections 5", &["expected fewer"]),
        ("serve --silence-timeout 0", &["1..=600"]),
        ("serve --memory-limit 1MiB", &["1048576 bytes are too few", "expected 32MiB at the least"]),
        ("serve --stack-kib 64", &["64 is not in"]),
        ("serve --execution request --stack-kib 8192", &["--stack-kib means nothing without coroutines"]),
        ("serve --execution thread --threads 2", &["--threads means nothing to --execution thread"]),
        ("serve --engine hier --escalate-after -1", &["-1 is not in 0.."]),
        ("serve --engine sli --hot-percent 101", &["101 is not in 0..=100"]),
        ("serve --engine hstore --partitions 0", &["0 is not in 1.."]),
        ("serve --engine hstore --partitions 100000", &["engine hstore: 100000 partitions", "expected 1 to 4096"]),
    ] {
        check(line, 2, expected);
    }
}

#[test]
fn options_that_mean_nothing_here_are_refused() {
    for (line, expected) in [
        (
            "bench micro --engine 2pl-waitdie,vll --engine-partitions 1",
            &[
                "--engine-partitions means nothing to engine 2pl-waitdie, vll",
                "expected one of vll-st, vll-st-sca, hstore",
            ][..],
        ),
        ("bench micro --concurrency mixed", &["--concurrency mixed means nothing to engine 2pl-waitdie"]),
        ("bench range --memory", &["--memory means nothing to range", "no tables"]),
        (
            "bench micro --blocked-limit 3",
            &["--blocked-limit means nothing to engine 2pl-waitdie", "vll-arrayed, vll-st"],
        ),
        (
            "bench micro --engine vll-st --scheduler thread --blocked-limit 3",
            &["nothing to engine vll-st", "expected a pool, and one of"],
        ),
        (
            "bench ycsb --engine bare,vll --network-delay-us 3",
            &["--network-delay-us means nothing to engine bare, vll"],
        ),
        (
            "bench micro --engine vll-st --scheduler thread --network-delay-us 3",
            &["--network-delay-us means nothing to engine vll-st", "expected a pool, and one of vll-st, vll-st-sca"],
        ),
        (
            "bench ycsb --engine ilock --cc-threads 1",
            &["--cc-threads means nothing to engine ilock", "orthrus, orthrus-split, orthrus-shared"],
        ),
        (
            "bench ycsb --engine orthrus --scheduler thread --cc-threads 1",
            &["--cc-threads means nothing to engine orthrus", "expected a pool"],
        ),
        ("bench tpcb --assign by-type", &["--assign by-type means nothing to tpcb", "expected tatp, tpcc or bimodal"]),
        ("bench tpcc --mix payment --assign by-type", &["nothing to this mix of tpcc", "expected a mix of several"]),
        ("bench tatp --threads 1 --assign by-type", &["nothing with one thread", "expected --threads 2 or more"]),
        ("bench tatp --over-wire --assign by-type", &["--assign by-type means nothing with --over-wire"]),
        ("bench ycsb --engine vll --escalate-after 10", &["--escalate-after means nothing to engine vll", "hier, sli"]),
        ("bench ycsb --engine hier --hot-percent 10", &["--hot-percent means nothing to engine hier", "one of sli"]),
        ("bench ycsb --engine hier --momentum 10", &["--momentum means nothing to engine hier", "one of sli"]),
        ("bench ycsb --engine sli --momentum 256", &["invalid value '256' for '--momentum", "256 is not in 0..=255"]),
        (
            "bench ycsb --engine sli --hot-percent 101",
            &["invalid value '101' for '--hot-percent", "101 is not in 0..=100"],
        ),
        ("bench range --engine-partitions 2", &["--engine-partitions means nothing to engine vllr"]),
        ("bench ycsb --json x.svg --plot ./x.svg", &["--json x.svg and --plot ./x.svg are one file"]),
        (
            "bench range --manager vlr",
            &[
                "invalid value 'vlr' for '--manager",
                "[possible values: vllr, vllr-sca, vllr-blocks, vllr-blocks-sca, standard, hierarchical, records]\n",
                "similar",
            ],
        ),
        ("bench micro --manager vllr", &["unexpected argument '--manager'"]),
        ("serve --engine vll --blocked-limit 3", &["unexpected argument '--blocked-limit'"]),
        (
            "serve --engine vll --partitions 2",
            &["--partitions means nothing to engine vll as", "expected one of vll-st,"],
        ),
        ("serve --escalate-after 9", &["--escalate-after means nothing to engine ilock", "expected one of hier, sli"]),
        ("serve --hot-percent 9", &["--hot-percent means nothing to engine ilock", "expected one of sli"]),
        ("serve --momentum 9", &["--momentum means nothing to engine ilock", "expected one of sli"]),
        ("serve --cc-threads 1", &["--cc-threads means nothing to engine ilock", "expected one of orthrus,"]),
        ("serve --engine mvo --early-release hot", &["--early-release hot means nothing to engine mvo", "ilock"]),
        ("serve --early-release cold", &["invalid value 'cold' for '--early-release", "[possible values: off, hot]"]),
        (
            "serve --deadlock-time-outs --early-release hot",
            &["--early-release hot means nothing with --deadlock-time-outs"],
        ),
    ] {
        check(line, 2, expected);
    }
}

/// If the name of an engine or a manager is wrong, only the names that are possible there are listed.
#[test]
fn a_wrong_name_lists_no_other_kind() {
    for (line, other) in [
        ("bench range --manager vlr", "2pl-waitdie"),
        ("bench ycsb --engine vlr", "hierarchical"),
        ("bench micro --engine vlr", "hierarchical"),
        ("bench micro --engine vlr", "bare"),
    ] {
        let output = hotrow(line);
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(text.contains("possible values") && !text.contains(other), "hotrow {line}: {other} is in\n{text}");
    }
    check("bench ycsb --engine vlr", 2, &["bare"]);
}

#[test]
fn every_engine_is_listed() {
    let names = engine_names();
    for expected in ["none", "serial", "2pl-waitdie", "2pl-timeout"] {
        assert!(names.iter().any(|name| name == expected), "{expected} is not in {names:?}");
        check("engines", 0, &[expected]);
    }
    for engine in engines() {
        let isolates = engine["isolates"].as_bool().expect("a truth value");
        assert!(
            ["thread", "planned pool", "partition", "pool with roles"]
                .contains(&engine["scheduler"].as_str().expect("a name"))
        );
        let levels = engine["isolation"].as_array().expect("an array");
        assert!(!isolates || levels.contains(&Value::from("serializable")), "{engine}");
    }
}

#[test]
fn every_engine_runs_ycsb_and_keeps_it_consistent() {
    let runs = run_all("ycsb --records 1000 --theta 0.9 --value-bytes 20", "ycsb.json");
    check_runs(&runs, "ycsb");
    assert!(runs.iter().all(|run| run["params"]["theta"] == 0.9 && run["params"]["records"] == 1000));
}

#[test]
fn every_engine_runs_on_threads_and_in_a_pool() {
    for (options, scheduler, slots) in
        [("--scheduler thread", Some("thread"), 1), ("--scheduler pool --slots 5", Some("pool"), 5), ("", None, 8)]
    {
        let json = format!("{}.json", scheduler.unwrap_or("default"));
        let runs = run_all(&format!("micro --records 2000 --hot-records 20 --hot-ops 2 {options}"), &json);
        check_runs(&runs, "micro");
        for (run, engine) in runs.iter().zip(engines()) {
            let pooled = scheduler.map_or(engine["scheduler"] != "thread", |scheduler| scheduler == "pool");
            let expected = if pooled { ("pool", slots) } else { ("thread", 1) };
            assert_eq!(
                (run["scheduler"].as_str(), run["slots"].as_u64()),
                (Some(expected.0), Some(expected.1)),
                "{run}"
            );
        }
    }
}

#[test]
fn every_engine_runs_tpcb_and_keeps_it_consistent() {
    let runs = run_all("tpcb --scale 1", "tpcb.json");
    check_runs(&runs, "tpcb");
    assert!(runs.iter().all(|run| run["params"]["scale"] == 1));
}

#[test]
fn every_engine_runs_tpcc_and_keeps_it_consistent() {
    let runs = run_all("tpcc --warehouses 1 --items 200 --customers 100 --rollback 0.1", "tpcc.json");
    check_runs(&runs, "tpcc");
    for run in &runs {
        let kinds = run["kinds"].as_array().expect("an array");
        let committed: u64 = kinds.iter().filter_map(|kind| kind["committed"].as_u64()).sum();
        assert_eq!((kinds.len(), Some(committed)), (5, run["committed"].as_u64()), "{run}");
        assert!(run["aborted"]["user"].as_u64() > Some(0), "a tenth of the orders is rolled back: {run}");
    }
}

#[test]
fn every_engine_runs_tatp_and_keeps_it_consistent() {
    let runs = run_all("tatp --subscribers 200", "tatp.json");
    check_runs(&runs, "tatp");
    for run in &runs {
        let kinds = run["kinds"].as_array().expect("an array");
        let committed: u64 = kinds.iter().filter_map(|kind| kind["committed"].as_u64()).sum();
        assert_eq!((kinds.len(), Some(committed)), (7, run["committed"].as_u64()), "{run}");
        let success = |kind: &Value| kind["success"].as_f64().expect("a share");
        // Subscribers' data are always found; access infos often are not.
        assert!(success(&kinds[0]) == 1.0 && (0.3..0.9).contains(&success(&kinds[2])), "{run}");
    }
}

#[test]
fn every_engine_runs_micro_and_keeps_it_consistent() {
    let runs = run_all("micro --records 500 --hot-records 2 --hot-ops 2 --work-us 0.1", "micro.json");
    check_runs(&runs, "micro");
    let locking = runs.iter().find(|run| run["engine"] == "2pl-waitdie").expect("it is an engine");
    let us = |part: &str| locking["breakdown_us"][part].as_f64().expect("a time");
    assert!(us("lock_manager") > 0.0 && us("work") > 0.0 && us("log") == 0.0, "{locking}");
}

#[test]
fn every_engine_runs_interactive_and_keeps_it_consistent() {
    check_runs(&run_all("interactive --records 500", "interactive.json"), "interactive");
}

#[test]
fn every_engine_runs_hekaton_beside_long_readers_and_keeps_it_consistent() {
    let runs = run_all("hekaton --rows 500 --read-only-share 0.2 --long-readers 1", "hekaton.json");
    check_runs(&runs, "hekaton");
    for run in &runs {
        let of = |kind: usize| run["kinds"][kind]["committed"].as_u64().expect("a count");
        assert!(of(0) > 0 && of(2) > 0, "{run}");
    }
}

#[test]
fn every_engine_runs_bimodal_and_keeps_it_consistent() {
    let runs = run_all("bimodal --rows 200 --groups 3 --share 0.6", "bimodal.json");
    check_runs(&runs, "bimodal");
    for run in &runs {
        let kinds = run["kinds"].as_array().expect("an array");
        let committed: u64 = kinds.iter().filter_map(|kind| kind["committed"].as_u64()).sum();
        assert_eq!((kinds.len(), Some(committed)), (3, run["committed"].as_u64()), "{run}");
    }
}

#[test]
fn every_engine_runs_roving_and_keeps_it_consistent() {
    let runs = run_all("roving --rows 500 --read-only-share 0.2", "roving.json");
    check_runs(&runs, "roving");
    for run in &runs {
        let of = |kind: usize| run["kinds"][kind]["committed"].as_u64().expect("a count");
        assert!(of(0) > 0 && of(1) > 0, "{run}");
    }
}

#[test]
fn every_engine_runs_transfers_and_keeps_them_consistent() {
    check_runs(&run_all("transfers --accounts 20 --balance 3", "transfers.json"), "transfers");
}

#[test]
fn types_can_be_assigned_to_threads() {
    for (workload, kinds) in [
        ("bimodal --rows 200", 2),
        ("tatp --subscribers 200", 7),
        ("tpcc --warehouses 1 --items 200 --customers 100", 5),
    ] {
        let json = output_file("assigned.json");
        for (assign, threads) in [("random", 2), ("by-type", 2), ("by-type", 3)] {
            let line = format!(
                "bench {workload} --assign {assign} --engine 2pl-waitdie,ilock --threads {threads} --seconds 0.2 \
                 --warmup 0 --json {}",
                json.display()
            );
            check(&line, 0, &[" ok"]);
            let text = std::fs::read_to_string(&json).expect("a file");
            let runs: Vec<Value> = serde_json::from_str(&text).expect("JSON");
            for run in &runs {
                assert_eq!(run["params"]["assign"], assign, "{run}");
                assert_eq!(run["kinds"].as_array().map(Vec::len), Some(kinds), "{run}");
            }
        }
    }
}

#[test]
fn sums_that_never_were_fail_no_run_at_a_level_that_lets_them_be_seen() {
    let line = "bench hekaton --engine 2pl-waitdie --isolation read-committed --long-isolation read-committed --rows 2000 \
                --long-readers 1 --threads 2 --seconds 0.2 --warmup 0";
    check(line, 0, &["update", "long-read", " ok"]);
}

#[test]
fn levels_are_reported_as_they_were_granted() {
    let json = output_file("granted.json");
    let line = format!(
        "bench hekaton --engine 1v,none --isolation snapshot --rows 500 --long-readers 1 --threads 2 --seconds 0.1 --warmup 0 \
         --json {}",
        json.display()
    );
    check(&line, 0, &["1v has no snapshot: it ran at serializable"]);
    let runs: Vec<Value> = serde_json::from_str(&std::fs::read_to_string(json).expect("a file")).expect("JSON");
    assert_eq!(runs[0]["granted"], serde_json::json!({"snapshot": "serializable", "serializable": "serializable"}));
    assert_eq!(
        (&runs[0]["params"]["long_isolation"], &runs[1]["granted"]),
        (&"serializable".into(), &serde_json::json!({}))
    );
}

#[test]
fn memory_is_told_table_by_table() {
    let json = output_file("memory.json");
    let line =
        format!("bench tpcb --scale 1 --memory --engine 1v,mvo --seconds 0.1 --warmup 0 --json {}", json.display());
    let versions = "mvo: 100,011 versions, 0 of them garbage when loaded";
    check(&line, 0, &["overhead", "mvo pgbench_accounts loaded", "1v pgbench_history after", versions]);
    let runs: Vec<Value> = serde_json::from_str(&std::fs::read_to_string(json).expect("a file")).expect("JSON");
    for run in &runs {
        for when in ["loaded", "after"] {
            let tables = run["memory"][when].as_array().expect("an array");
            let accounts = tables.iter().find(|table| table["table"] == "pgbench_accounts").expect("it is there");
            assert_eq!(accounts["rows"], 100_000, "{run}");
            assert!(accounts["overhead_of_row"].as_f64() > Some(16.0), "{run}");
        }
    }
}

fn check_runs(runs: &[Value], workload: &str) {
    let names = engines_for(workload);
    assert_eq!(runs.len(), names.len());
    for (run, name) in runs.iter().zip(&names) {
        assert_eq!((&run["engine"], &run["workload"]), (&Value::from(name.as_str()), &Value::from(workload)));
        for number in ["seconds", "throughput", "cpu_us_per_txn"] {
            assert!(run[number].as_f64() > Some(0.0), "{name}: {number} in {run}");
        }
        assert_eq!(run["threads"], 2);
        assert!(run["committed"].as_u64() > Some(0), "{name}: {run}");
        assert!(run["aborted"]["conflict"].is_u64() && run["aborted"]["deadlock"].is_u64(), "{name}: {run}");
        for quantile in ["mean", "p50", "p95", "p99", "max"] {
            assert!(run["latency_us"][quantile].is_f64(), "{name}: {quantile} in {run}");
        }
        for part in ["work", "lock_manager", "wait", "log", "other"] {
            assert!(run["breakdown"][part].is_f64(), "{name}: {part} in {run}");
        }
        assert!(run["host"]["cores"].as_u64() > Some(0) && run["commit"].is_string(), "{name}: {run}");
        let consistency = run["consistency"].as_str().expect("a text");
        assert!(
            consistency == "ok" || name == "none" && consistency.starts_with("ok without isolation"),
            "{name}: {consistency}"
        );
    }
}

#[test]
fn every_manager_of_range_locks_runs_and_grants_what_is_compatible() {
    const MANAGERS: &str = "vllr,vllr-sca,vllr-blocks,vllr-blocks-sca,standard,hierarchical,records";
    for options in [
        "--prefix-bits 15",
        "--prefix-bits 6 --random-ends --delayed 0.5 --delay-us 20 --shared 0.3 --blocked-limit 10",
        "--prefix-bits 4 --random-ends --delayed 1 --delay-us 50 --bits-per-level 4 --prefixes 8",
        "--prefix-bits 0 --long --blocked-limit 1",
    ] {
        let line = format!("bench range --manager {MANAGERS} --key-bits 16 {options} --seconds 0.1 --warmup 0.02");
        check(&line, 0, &["range: ranges of 16-bit keys", "vllr-sca", "hierarchical", "records", " ok"]);
    }
    // Without a name, all managers run that can: `records` has no counters for so many keys.
    let output = hotrow("bench range --seconds 0.1 --warmup 0.02");
    let table = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && table.contains("vllr-sca") && table.contains("hierarchical"), "{table}");
    assert!(!table.contains("records"), "{table}");
}

#[test]
fn the_bare_loop_runs_both_ways() {
    for batch in ["", "--no-batch"] {
        let line = format!("bench ycsb --engine bare {batch} --records 1000 --threads 1 --seconds 0.1 --warmup 0.05");
        check(&line, 0, &["bare", "\n1 thread, 0.1 s", " ok"]);
    }
}

#[test]
fn values_beyond_the_fixed_part_are_kept_too() {
    let line = "bench ycsb --engine bare,none,2pl-timeout,serial --records 200 --fields 3 --value-bytes 300 \
                --threads 1 --seconds 0.1 --warmup 0";
    check(line, 0, &["bare", "none", "2pl-timeout", "serial"]);
}

#[test]
fn repetitions_take_turns_and_give_medians_and_pictures() {
    let (json, svg) = (output_file("turns.json"), output_file("turns.svg"));
    let line = format!(
        "bench ycsb --engine serial,2pl-waitdie --records 100 --seconds 0.05 --warmup 0 --repetitions 3 --breakdown \
         --isolation read-committed --json {} --plot {}",
        json.display(),
        svg.display()
    );
    check(&line, 0, &["medians", "lock manager", "ratio"]);
    let text = std::fs::read(json).expect("the file is there");
    let runs: Vec<Value> = serde_json::from_slice(&text).expect("a JSON array");
    let order: Vec<_> = runs.iter().map(|run| (run["params"]["repetition"].as_u64(), run["engine"].as_str())).collect();
    let expected: Vec<_> =
        (1..=3).flat_map(|turn| ["serial", "2pl-waitdie"].map(|engine| (Some(turn), Some(engine)))).collect();
    assert_eq!(order, expected);
    let picture = std::fs::read_to_string(svg).expect("the file is there");
    assert!(picture.starts_with("<svg") && picture.contains("2pl-waitdie") && picture.contains("</svg>"));
}

#[test]
fn figures_are_listed() {
    for line in ["reproduce", "reproduce --list"] {
        check(
            line,
            0,
            &[
                "orthrus-1 ",
                "orthrus-4 ",
                "orthrus-12 ",
                "orthrus-13 ",
                "vll-8 ",
                "vll-9 ",
                "vll-16 ",
                "sli-1 ",
                "sli-6 ",
                "sli-11 ",
                "--out DIR",
            ],
        );
    }
}

#[test]
fn a_wrong_figure_says_which_there_are() {
    for (line, expected) in [
        ("reproduce orthrus-99 --out x", &["invalid value 'orthrus-99'", "all", "orthrus-4", "vll-8", "sli"][..]),
        ("reproduce orthrus-4", &["required", "--out <DIR>"]),
        ("reproduce --out x", &["required", "FIGURE"]),
        ("reproduce --quick", &["required", "FIGURE"]),
        ("reproduce all --out x --quick --steps 3", &["cannot be used with"]),
        ("reproduce all --out x --steps 0", &["0 is not in 1.."]),
    ] {
        check(line, 2, expected);
    }
}

#[test]
fn every_figure_becomes_points_drawings_and_a_section() {
    let folder = output_file("figures");
    let line = format!("reproduce all --steps 5 --out {}", folder.display());
    check(&line, 0, &["orthrus-4: ", "claims hold", "holds here", "index.html"]);
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).expect(name);
    let page = read("index.html");
    let figures = [
        ("orthrus-1", 1),
        ("orthrus-4", 2),
        ("orthrus-5", 1),
        ("orthrus-6", 1),
        ("orthrus-7", 1),
        ("orthrus-8", 1),
        ("orthrus-9", 1),
        ("orthrus-10", 3),
        ("orthrus-11", 2),
        ("orthrus-12", 3),
        ("orthrus-13", 6),
        ("vll-8", 5),
        ("vll-9", 4),
        ("vll-10", 2),
        ("vll-14", 4),
        ("vll-15", 2),
        ("vll-16", 2),
        ("sli-1", 2),
        ("sli-6", 2),
        ("sli-7", 3),
        ("sli-8", 1),
        ("sli-9", 2),
        ("sli-10", 3),
        ("sli-11", 1),
        ("hekaton-4", 1),
        ("hekaton-5", 1),
        ("hekaton-table-3", 1),
        ("hekaton-6", 1),
        ("hekaton-7", 2),
        ("hekaton-8", 2),
        ("hekaton-9", 2),
        ("hekaton-table-4", 1),
        ("interactive-14", 1),
        ("interactive-15", 1),
        ("interactive-16", 2),
        ("interactive-18", 1),
        ("interactive-20", 3),
        ("contention", 3),
    ];
    for (figure, panels) in figures {
        assert!(page.contains(&format!("<section id=\"{figure}\">")), "{figure} is not on the page");
        let points = read(&format!("{figure}.csv"));
        assert!(points.starts_with("figure,panel,title,series,engine,") && points.lines().count() > 1, "{points}");
        for panel in ["a", "b", "c", "d", "e", "f"].iter().take(panels) {
            assert!(read(&format!("{figure}-{panel}.svg")).trim_end().ends_with("</svg>"), "{figure} ({panel})");
        }
    }
    assert_eq!(page.matches("<svg").count(), figures.iter().map(|(_, panels)| panels).sum::<usize>());
    assert!(!page.contains("not decided") && !page.contains("Failed"), "{page}");
}

#[test]
fn a_paper_stands_for_its_figures() {
    let folder = output_file("figures-of-a-paper");
    check(&format!("reproduce vll --steps 2 --out {}", folder.display()), 0, &["vll-8: "]);
    assert!(folder.join("vll-8.csv").exists() && !folder.join("sli-6.csv").exists());
}

#[test]
fn a_file_that_cannot_be_written_fails_before_anything_runs() {
    check("reproduce all --out /dev/null/figures", 1, &["/dev/null/figures could not be written"]);
    check("bench ycsb --seconds 3600 --json /nowhere/out.json", 1, &["/nowhere/out.json could not be written"]);
}

#[test]
fn a_reader_that_leaves_early_is_no_failure() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_hotrow"))
        .arg("engines")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("the program ends");
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]));
}
