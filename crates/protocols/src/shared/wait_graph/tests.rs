//! Tests of the wait-for graph by itself.

use super::*;
use hotrow_sync::Waiter;
use std::time::Duration;

/// Makes a graph of so many owners, whose transactions are labelled ten times the owner's number.
fn graph_of(owners: u32) -> WaitGraph {
    let graph = WaitGraph::new();
    (0..owners).for_each(|owner| graph.begin(OwnerId(owner), owner * 10));
    graph
}

fn wait(graph: &WaitGraph, waiter: u32, blockers: &[u32]) -> Arc<Parked> {
    let parked = Arc::new(Parked::new(Waiter::thread(Duration::ZERO)));
    let blockers: Vec<_> = blockers.iter().map(|&blocker| OwnerId(blocker)).collect();
    let request = Queued { waiter: OwnerId(waiter), mode: "exclusive", target: LockTarget::Database, parked: &parked };
    graph.publish(request, &blockers);
    graph.announce(OwnerId(waiter));
    parked
}

/// Returns the labels of the cycle that `waiter` takes the blame for, or `None` if there is none.
fn blame(graph: &WaitGraph, waiter: u32) -> Option<Vec<u32>> {
    let deadlock = graph.take_blame(OwnerId(waiter))?;
    let waits = &deadlock.waits;
    for (at, edge) in waits.iter().enumerate() {
        assert_eq!(edge.blocker, waits[(at + 1) % waits.len()].waiter, "{waits:?}");
        assert_eq!((edge.mode, &edge.target), ("exclusive", &LockTarget::Database));
    }
    Some(waits.iter().map(|edge| edge.waiter).collect())
}

#[test]
fn who_closes_a_cycle_is_its_victim_and_the_only_one() {
    type Case = (&'static [(u32, &'static [u32])], Option<&'static [u32]>);
    let cases: [Case; 7] = [
        (&[(0, &[1])], None),
        (&[(1, &[2]), (2, &[3]), (0, &[1])], None),
        (&[(0, &[1]), (1, &[0])], Some(&[10, 0])),
        (&[(2, &[0]), (0, &[1]), (1, &[2])], Some(&[10, 20, 0])),
        (&[(0, &[1]), (1, &[2]), (2, &[1])], Some(&[20, 10])),
        // The shortest of several.
        (&[(1, &[3]), (2, &[0]), (3, &[0]), (0, &[1, 2])], Some(&[0, 20])),
        (&[(9, &[0]), (0, &[1, 2, 3, 4, 5, 6, 7, 8, 9])], Some(&[0, 90])),
    ];
    for (waits, cycle) in cases {
        let graph = graph_of(10);
        let _parked: Vec<_> = waits.iter().map(|(waiter, blockers)| wait(&graph, *waiter, blockers)).collect();
        let (last, others) = waits.split_last().expect("somebody waits");
        others.iter().for_each(|(other, _)| assert_eq!(blame(&graph, *other), None, "{waits:?}: not {other}"));
        assert_eq!(blame(&graph, last.0).as_deref(), cycle, "{waits:?}");
        (0..10).for_each(|other| assert_eq!(blame(&graph, other), None, "{waits:?}: a second victim"));
    }
}

#[test]
fn edges_that_are_no_more_lead_nowhere() {
    let cycle = || {
        let graph = graph_of(3);
        let parked = [wait(&graph, 1, &[2]), wait(&graph, 2, &[0]), wait(&graph, 0, &[1])];
        (graph, parked)
    };
    let (graph, _parked) = cycle();
    graph.clear(OwnerId(1));
    assert_eq!(blame(&graph, 0), None, "a withdrawn request waits for nobody");

    let (graph, parked) = cycle();
    parked[1].grant();
    assert_eq!(blame(&graph, 0), None, "a granted request waits for nobody");

    let (graph, _parked) = cycle();
    graph.begin(OwnerId(2), 20);
    assert_eq!(blame(&graph, 0), None, "nobody waits for the next transaction of whom it waited for");

    let graph = graph_of(4);
    let _early = wait(&graph, 3, &[2]);
    graph.begin(OwnerId(2), 20);
    let _parked = [wait(&graph, 1, &[2]), wait(&graph, 2, &[0]), wait(&graph, 0, &[3, 1])];
    assert_eq!(blame(&graph, 0), Some(vec![0, 10, 20]), "an edge to an earlier transaction hides none to a later one");
}

#[test]
fn who_comes_to_wait_for_somebody_new_looks_again() {
    let graph = graph_of(4);
    let _parked = [wait(&graph, 1, &[2, 3]), wait(&graph, 0, &[1])];
    assert!(!graph.change(OwnerId(1), &[OwnerId(2)]), "fewer are nobody new");
    assert!(graph.change(OwnerId(1), &[OwnerId(0)]));
    assert_eq!((blame(&graph, 0), blame(&graph, 1)), (None, None), "it has not been its turn yet");
    graph.announce(OwnerId(1));
    assert_eq!((blame(&graph, 0), blame(&graph, 1)), (None, Some(vec![10, 0])));
}

#[test]
fn who_is_waited_for_is_told() {
    let graph = graph_of(300);
    assert!(!graph.is_waited_for(OwnerId(0)) && !graph.is_waited_for(OwnerId(1)));
    let _parked = wait(&graph, 0, &[1]);
    assert!(!graph.is_waited_for(OwnerId(0)) && graph.is_waited_for(OwnerId(1)));
    graph.begin(OwnerId(1), 10);
    assert!(!graph.is_waited_for(OwnerId(1)), "nobody waits for the next transaction");
    let _parked = wait(&graph, 299, &[0, 1]);
    assert!(graph.is_waited_for(OwnerId(0)) && graph.is_waited_for(OwnerId(1)));
}
