//! The duration of deadlocks: `cargo bench -p hotrow-protocols --bench deadlocks`.
//!
//! So many threads hold a row each and then ask for each other's, in a circle. Printed is the time from the last of
//! these requests, which closes the cycle, to the moment at which a victim is told: median, 99th percentile and
//! greatest, in microseconds; and how many victims there were beyond one a circle. `HOTROW_BENCH_CIRCLES=1000` (the
//! default) sets the number of circles.

use hotrow_protocols::Instance;
use hotrow_protocols::two_phase::{Dreadlocks, Timeout, TwoPhase, WaitFor};
use hotrow_storage::{Column, Key, TableId, TableSchema, Type, Value};
use hotrow_sync::{Arc, Barrier, Waiter, thread};
use hotrow_txn::{Abort, Begin, Engine, Isolation, Transaction};
use std::time::{Duration, Instant};

/// As long as a session's thread spins before it blocks.
const SPIN: Duration = Duration::from_micros(20);

#[expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
fn main() {
    let circles = std::env::var("HOTROW_BENCH_CIRCLES").ok().and_then(|text| text.parse().ok()).unwrap_or(1000);
    println!(
        "{:16} {:>7} {:>10} {:>9} {:>9} {:>12}",
        "engine", "threads", "median µs", "p99 µs", "max µs", "more victims"
    );
    let engines: [fn() -> Arc<dyn Engine>; 3] = [
        || Instance::<TwoPhase<WaitFor>>::new(Default::default()),
        || Instance::<TwoPhase<Dreadlocks>>::new(Default::default()),
        || Instance::<TwoPhase<Timeout>>::new(Default::default()),
    ];
    for (open, threads) in engines.into_iter().flat_map(|open| [2, 3, 8].map(|threads| (open, threads))) {
        let engine = open();
        let (mut times, victims) = deadlocks(&engine, threads, circles);
        times.sort_unstable();
        let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e6;
        let (median, p99, max) = (at(0.5), at(0.99), at(1.0));
        let name = engine.info().name;
        println!("{name:16} {threads:7} {median:10.1} {p99:9.1} {max:9.1} {:12}", victims - times.len());
    }
}

/// The time of each circle from the closing request to the first victim, and the number of victims.
fn deadlocks(engine: &Arc<dyn Engine>, threads: usize, circles: usize) -> (Vec<Duration>, usize) {
    let table = table(&**engine, threads);
    let barrier = Arc::new(Barrier::new(threads));
    let work = |own: usize| {
        let (engine, barrier) = (engine.clone(), barrier.clone());
        thread::spawn(move || {
            let mut txn = engine.transaction(Waiter::thread(SPIN));
            let rows = [own, (own + 1) % threads].map(|row| Key::Int(row as i64));
            (0..circles).map(|_| take_part(&mut *txn, table, &rows, &barrier)).collect::<Vec<_>>()
        })
    };
    let workers: Vec<_> = (0..threads).map(work).collect();
    let parts: Vec<_> = workers.into_iter().map(|worker| worker.join().expect("no thread panics")).collect();
    let (mut times, mut victims) = (Vec::new(), 0);
    for circle in 0..circles {
        let parts = || parts.iter().map(|parts| parts[circle]);
        let closed = parts().map(|part| part.asked).max().expect("there are threads");
        let told = parts().filter(|part| part.is_victim).map(|part| part.answered);
        victims += told.clone().count();
        times.push(told.min().expect("a circle has a victim").saturating_duration_since(closed));
    }
    (times, victims)
}

/// A thread's part in a circle.
#[derive(Clone, Copy)]
struct Part {
    asked: Instant,
    answered: Instant,
    is_victim: bool,
}

/// Locks the first of `rows`, and asks for the second when all others hold their first.
fn take_part(txn: &mut dyn Transaction, table: TableId, rows: &[Key; 2], barrier: &Barrier) -> Part {
    txn.begin(&Begin { one_shot: true, ..Begin::at(Isolation::Serializable) }).expect("nothing is in the way");
    txn.read_for_update(table, &rows[0]).expect("nobody else wants it yet");
    barrier.wait();
    let asked = Instant::now();
    let outcome = txn.read_for_update(table, &rows[1]).map(drop);
    let answered = Instant::now();
    txn.abort();
    barrier.wait();
    Part { asked, answered, is_victim: matches!(outcome, Err(Abort::Deadlock | Abort::Timeout)) }
}

fn table(engine: &dyn Engine, rows: usize) -> TableId {
    let table = engine.create_table(TableSchema::new("t", vec![Column::new("id", Type::Int8)], &[0]));
    for id in 0..rows {
        let mut row = engine.new_row(table);
        row.change(|row| row.set(0, &Value::Int8(id as i64)));
        engine.load(table, row.as_ref()).expect("keys differ");
    }
    table
}
