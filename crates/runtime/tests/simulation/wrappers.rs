//! Transaction objects around others answer as the ones within, for each engine.

use crate::table::{BY_GROUP, Fixture, KEYS};
use hotrow_check::Recorder;
use hotrow_protocols::ENGINES;
use hotrow_runtime::simulation::{Simulation, SimulationConfig};
use hotrow_storage::{IndexRef, Key, TableId};
use hotrow_sync::Arc;
use hotrow_txn::{Accesses, Begin, Intent, Isolation, LockFor, Ownership, RangeAccess, Scan, Transaction};

/// Returns the answers of a transaction to questions about itself while it runs, and about the rows that it is asked to
/// hold.
fn answers(txn: &mut dyn Transaction, table: TableId) -> Vec<String> {
    let mut accesses = Accesses::default();
    for key in 0..KEYS {
        accesses.push(table, Key::Int(key), Intent::Read);
    }
    let all = Scan::all(table, IndexRef::Primary);
    let (lower, upper) = (all.lower.clone(), all.upper.clone());
    accesses.push_range(RangeAccess { table, index: BY_GROUP, lower, upper, intent: Intent::Read });
    let began = txn.begin(&Begin { accesses: Some(&accesses), ..Begin::at(Isolation::ReadCommitted) });
    let mut said = vec![format!("{began:?}")];
    said.push(format!("residual {:?}", [LockFor::Read, LockFor::Update].map(|lock| txn.takes_residual(lock))));
    said.push(format!("{:?}", txn.capabilities()));
    said.push(format!("schema {:?}", txn.schema_of(table).map(|schema| schema.name.clone())));
    let mut is_asked = false;
    txn.announce(&mut |_| is_asked = true);
    said.push(format!("asked for announced rows {is_asked}"));
    let before = txn.statistics().locks;
    said.push(format!("rows {:?}", [0, 1].map(|key| txn.hold_row(table, &Key::Int(key)))));
    said.push(format!("locks {}", txn.statistics().locks - before));
    txn.own_table(table, Ownership::New);
    said.push(format!("owned {:?}, {:?}", txn.check_owned_table(table), txn.commit()));
    txn.abort();
    said
}

#[test]
fn wrappers_answer_as_what_they_are_around() {
    for info in ENGINES {
        let fixture = Arc::new(Fixture::open(info.name, &Default::default(), true, 2));
        let mut simulation = Simulation::new(SimulationConfig::new(1));
        let name = info.name;
        simulation.spawn("task", move |task| {
            let (engine, table) = (&*fixture.engine, fixture.table);
            let expected = answers(&mut *engine.transaction(task.waiter().clone()), table);
            let mut wrapped = Recorder::new(Box::new(task.transaction(engine)), &fixture.recording, "task");
            assert_eq!(answers(&mut wrapped, table), expected, "{name}");
        });
        simulation.run().unwrap_or_else(|failure| panic!("{name}: {failure}"));
    }
}
