//! TPC-C on engines that divide the data or the locks by warehouse: a transaction of one warehouse needs one part.

use crate::fixture::workload;
use hotrow_protocols::{ENGINES, open_with};
use hotrow_sync::{Arc, Waiter};
use hotrow_txn::{Abort, Accesses, Begin, Engine, Procedure, Runner, Settings, Statistics, Transaction};
use hotrow_workloads::tpcc::Tpcc;
use hotrow_workloads::{Client, ClientIdentity, Workload};
use std::ops::ControlFlow;
use std::time::Duration;

/// New-Orders and Payments of four warehouses.
const LINE: &str = "--warehouses 4 --items 100 --customers 30 --rollback 0 --mix neworder-payment";

/// Runs each procedure once with the access set that it declares, and keeps what was counted for it.
struct Declared {
    txn: Box<dyn Transaction>,
    counted: Vec<Statistics>,
}

impl Runner for Declared {
    fn run<P: Procedure>(&mut self, procedure: &P) -> Result<P::Output, Abort> {
        let before = *self.txn.statistics();
        let mut accesses = Accesses::new();
        procedure.accesses(&mut accesses);
        self.txn.begin(&Begin { accesses: Some(&accesses), one_shot: true, ..Begin::default() })?;
        let output = procedure.run(&mut *self.txn)?;
        self.txn.commit()?;
        self.counted.push(self.txn.statistics().since(&before));
        Ok(output)
    }

    fn note(&mut self, _kind: usize, _succeeded: bool) {}
}

/// Runs transactions on an engine with four parts, checks the database, and returns what was counted for each
/// transaction.
fn run(engine: &str, options: &str) -> Vec<Statistics> {
    let settings = Settings {
        workers: 8,
        partitions: Some(4),
        cc_threads: Some(4).filter(|_| is_orthrus(engine)),
        ..Settings::default()
    };
    let workload: Tpcc = workload(&format!("{LINE} {options}"));
    let database: Arc<dyn Engine> = open_with(engine, &settings).expect("the settings are good");
    let tables = workload.create(&*database);
    workload.load(&*database, tables, 1, &|_| ControlFlow::Continue(())).expect("the tables are empty");
    let mut client = workload.client(tables, ClientIdentity::first_run(0, 5));
    let mut runner = Declared { txn: database.transaction(Waiter::thread(Duration::ZERO)), counted: Vec::new() };
    for _ in 0..100 {
        client.step(&mut runner).unwrap_or_else(|abort| panic!("{engine}: {abort:?}"));
    }
    assert_eq!(workload.check(&*database, tables, &[client]), Ok(()), "{engine}");
    assert_eq!(database.audit(), Ok(()), "{engine}");
    runner.counted
}

fn is_orthrus(engine: &str) -> bool {
    let has_roles = |info: &&hotrow_txn::EngineInfo| info.settings.contains(&hotrow_txn::Setting::CcThreads);
    ENGINES.iter().filter(has_roles).any(|info| info.name == engine)
}

#[test]
fn a_transaction_of_one_warehouse_visits_one_part_of_the_lock_table() {
    for engine in ["orthrus", "orthrus-split"] {
        let messages = |options| {
            let counted = run(engine, options);
            counted.iter().map(|statistics| statistics.messages).collect::<Vec<_>>()
        };
        assert_eq!(messages("--remote-neworder 0 --remote-payment 0"), [2; 100], "{engine}");
        let remote = messages("--remote-neworder 0.1 --remote-payment 1");
        assert!(remote.contains(&3) && remote.iter().all(|&messages| (2..=5).contains(&messages)), "{remote:?}");
    }
}

#[test]
fn a_transaction_of_one_warehouse_takes_one_partition() {
    let locks = |options| run("partitioned", options).iter().map(|statistics| statistics.locks).collect::<Vec<_>>();
    assert_eq!(locks("--remote-neworder 0 --remote-payment 0"), [1; 100]);
    let remote = locks("--remote-neworder 0.1 --remote-payment 1");
    assert!(remote.contains(&2) && remote.iter().all(|&locks| (1..=4).contains(&locks)), "{remote:?}");
}

#[test]
fn every_engine_that_keeps_partitions_apart_runs_tpcc() {
    let engines: Vec<_> = ENGINES.iter().filter(|info| info.keeps_partitions()).collect();
    assert!(engines.len() >= 5, "{engines:?}");
    for info in engines {
        run(info.name, "--remote-payment 0.5");
    }
}
