//! A small loaded database on which some transactions have run, for tests that tamper with it.

use clap::Parser;
use hotrow_storage::{Key, RowMut, TableId};
use hotrow_sync::Waiter;
use hotrow_txn::{Abort, Begin, Engine, Procedure, Runner, Transaction};
use hotrow_workloads::{Client, ClientIdentity, Violation, Workload};
use std::ops::ControlFlow;
use std::time::Duration;

#[derive(Parser)]
struct Command<O: clap::Args> {
    #[command(flatten)]
    options: O,
}

/// Makes the workload with the options of a command line.
pub fn workload<W: Workload>(line: &str) -> W {
    let words = std::iter::once(W::NAME).chain(line.split_whitespace());
    let command = Command::<W::Options>::try_parse_from(words).expect("good options");
    W::new(command.options).expect("good options")
}

/// Runs each procedure once, and keeps the notes of clients.
struct Once {
    txn: Box<dyn Transaction>,
    notes: Vec<(usize, bool)>,
}

impl Runner for Once {
    fn run<P: Procedure>(&mut self, procedure: &P) -> Result<P::Output, Abort> {
        self.txn.begin(&Begin::default())?;
        let outcome = procedure.run(&mut *self.txn).and_then(|output| self.txn.commit().map(|()| output));
        if outcome.is_err() {
            self.txn.abort();
        }
        outcome
    }

    fn note(&mut self, kind: usize, succeeded: bool) {
        self.notes.push((kind, succeeded));
    }
}

fn transaction(engine: &dyn Engine) -> Box<dyn Transaction> {
    engine.transaction(Waiter::thread(Duration::ZERO))
}

/// A loaded database, and two clients that have each made some steps.
pub struct Fixture<W: Workload> {
    pub workload: W,
    pub engine: hotrow_sync::Arc<dyn Engine>,
    pub tables: W::Tables,
    pub clients: Vec<W::Client>,
    /// The notes of the clients.
    pub notes: Vec<(usize, bool)>,
}

impl<W: Workload> Fixture<W> {
    /// A fixture whose clients have made a hundred steps each.
    pub fn new(line: &str) -> Self {
        Self::after(line, 100)
    }

    /// A fixture whose clients have made `steps` steps each.
    pub fn after(line: &str, steps: u32) -> Self {
        let workload: W = workload(line);
        let engine = hotrow_protocols::open("serial").expect("the engine is in the registry");
        let tables = workload.create(&*engine);
        workload.load(&*engine, tables, 2, &|_| ControlFlow::Continue(())).expect("the tables are empty");
        let mut clients: Vec<_> =
            (0..2).map(|worker| workload.client(tables, ClientIdentity::first_run(worker, 5))).collect();
        let mut runner = Once { txn: transaction(&*engine), notes: Vec::new() };
        for _ in 0..steps {
            clients.iter_mut().for_each(|client| client.step(&mut runner).expect("nobody stands in the way"));
        }
        Self { workload, engine, tables, clients, notes: runner.notes }
    }

    /// Makes `client`, which is not one of the fixture's, run some steps. Returns its notes.
    pub fn run(&self, client: &mut W::Client, steps: u32) -> Vec<(usize, bool)> {
        let mut runner = Once { txn: transaction(&*self.engine), notes: Vec::new() };
        (0..steps).for_each(|_| client.step(&mut runner).expect("nobody stands in the way"));
        runner.notes
    }

    /// Makes `client`, which is not one of the fixture's, run one step, which may be a rollback.
    pub fn step(&self, client: &mut W::Client) -> Result<(), Abort> {
        client.step(&mut Once { txn: transaction(&*self.engine), notes: Vec::new() })
    }

    /// Changes a row without the clients' knowledge.
    pub fn tamper(&self, table: TableId, key: i64, change: impl Fn(&mut RowMut<'_>)) {
        self.tamper_with(|txn| {
            txn.update(table, &Key::Int(key), &mut |row| {
                change(row);
                Ok(())
            })?;
            Ok(())
        });
    }

    /// Changes anything without the clients' knowledge.
    pub fn tamper_with(&self, change: impl Fn(&mut dyn Transaction) -> Result<(), Abort>) {
        let mut txn = transaction(&*self.engine);
        txn.begin(&Begin::default()).and_then(|()| change(&mut *txn)).and_then(|()| txn.commit()).expect("alone");
    }

    /// Runs the workload's check.
    pub fn check(&self) -> Result<(), Violation> {
        self.workload.check(&*self.engine, self.tables, &self.clients)
    }
}

pub fn check_anomaly(outcome: Result<(), Violation>, expected: &str) {
    assert!(matches!(&outcome, Err(Violation::Anomaly(what)) if what.contains(expected)), "{outcome:?}");
}

pub fn check_corruption(outcome: Result<(), Violation>, expected: &str) {
    assert!(matches!(&outcome, Err(Violation::Corruption(what)) if what.contains(expected)), "{outcome:?}");
}
