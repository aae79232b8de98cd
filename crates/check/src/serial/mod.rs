//! The search for a serial order of a history's committed transactions that explains all that they saw. It decides
//! *strict* serializability by trying.
//!
//! Transactions are placed one after the other, beginning with the initial rows. A transaction that changes rows is
//! placed between the begin and the end of its call of commit; a transaction that changes none, anywhere between its
//! own begin and end. At its place, its reads, scans, writes and refusals must agree exactly with the rows that the
//! transactions before it have left. If every transaction finds a place, the history is strictly serializable; if no
//! order is left to try, it is not.
//!
//! **Why it is fast.** At any point only a few transactions can come next: if the call of one was over when the call of
//! another began, the first must come before the other. A transaction that changes nothing is placed as soon as it
//! fits, which does not affect the others. The search goes depth first, and remembers the states from which it failed:
//! which transactions had a place, and the rows that they had left.
//!
//! | module | what it is |
//! | --- | --- |
//! | `rows` | the rows at one point of the order, and whether a transaction fits there |
//! | `queue` | the transactions without a place |

mod queue;
mod rows;

use crate::anomaly::{transaction_name, version_name};
use crate::history::{Event, History, Stamp, Version};
use crate::items::Items;
use queue::Queue;
use rows::{Misfit, Rows, Steps, items_of};
use std::cmp::Reverse;
use std::collections::{BTreeSet, HashSet};

/// The number of times that the search tries a transaction at a place before it gives up: a few seconds' work.
const MOST_TRIES: usize = 5_000_000;

/// The number of tries for each transaction in a long history. A history that has an order takes a few.
const TRIES_EACH: usize = 100;

/// The outcome of the search for a serial order.
#[derive(Debug)]
pub(crate) enum Search {
    /// An order was found that explains the history.
    Found,
    /// No order explains the history.
    Refuted(Stuck),
    /// The search ended at its bound on tries before the answer was known.
    Undecided,
}

/// The evidence that no serial order explains a history, from the point at which the search got farthest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stuck {
    /// A sentence about how many transactions could be ordered, and then one for each transaction that could have come
    /// next but does not fit there, the smallest first. If some of them never fitted at any point, there are sentences
    /// only for these.
    pub sentences: Vec<String>,
    /// The numbers of the transactions in the sentences, and of the writers of the versions with which their reads
    /// disagree.
    pub involved: Vec<usize>,
}

/// Searches for a serial order of the committed transactions of a history. The search is exhaustive up to a bound on
/// its tries.
pub(crate) fn serial_order(history: &History) -> Search {
    let items = items_of(history);
    let mut order = Order::new(history, &items);
    match order.search() {
        Some(true) => Search::Found,
        Some(false) => Search::Refuted(order.stuck()),
        None => Search::Undecided,
    }
}

/// A transaction that is to be placed.
#[derive(Debug)]
struct Candidate<'h> {
    /// The transaction's number in the history.
    transaction: usize,
    /// The positions in the history between which the transaction must have its place.
    from: u64,
    until: u64,
    steps: Steps<'h>,
    /// Whether the transaction has fitted at any place.
    has_fitted: bool,
}

/// A transaction that was placed and changed rows, and the transactions that are left to try after it.
#[derive(Debug)]
struct Choice<'h> {
    /// The changes that the transaction made, in their order; they are undone in reverse order. `placed_before` is the
    /// number of transactions that had a place before it.
    undo: Vec<(usize, Option<&'h Version>)>,
    placed_before: usize,
    /// The transactions to try next after this one, the best last.
    rest: Vec<usize>,
    /// The state of the search after this transaction.
    state: State,
}

/// A state of the search: the transactions that can come next, which determine those that have a place, and the
/// fingerprint of the rows.
type State = (Vec<usize>, u64);

/// An order in the making. Candidates are identified by their position in `candidates`.
struct Order<'h> {
    history: &'h History,
    items: &'h Items,
    candidates: Vec<Candidate<'h>>,
    rows: Rows<'h>,
    by_from: Queue,
    by_until: Queue,
    placed: Vec<usize>,
    failed: HashSet<State>,
    tries: usize,
    /// The number of transactions that had a place when the search got farthest, and the reasons why none of the others
    /// could come next.
    farthest: Option<(usize, Vec<(usize, Misfit)>)>,
}

impl<'h> Order<'h> {
    fn new(history: &'h History, items: &'h Items) -> Self {
        let committed = history.transactions.iter().enumerate().filter(|(_, record)| record.is_committed());
        let candidates: Vec<_> = committed
            .map(|(transaction, record)| {
                let steps = Steps::of(record, items);
                let from = if steps.leaves.is_empty() { record.began } else { record.ending };
                Candidate { transaction, from, until: record.ended, steps, has_fitted: false }
            })
            .collect();
        let queue_by = |key: fn(&Candidate<'_>) -> u64| {
            let mut order: Vec<_> = (0..candidates.len()).collect();
            order.sort_by_key(|&number| key(&candidates[number]));
            Queue::new(candidates.len(), &order)
        };
        Self {
            history,
            items,
            by_from: queue_by(|candidate| candidate.from),
            by_until: queue_by(|candidate| candidate.until),
            rows: Rows::new(history, items),
            candidates,
            placed: Vec::new(),
            failed: HashSet::new(),
            tries: 0,
            farthest: None,
        }
    }

    /// Places all transactions. Returns `Some(false)` if that is impossible, and `None` if the tries ran out.
    fn search(&mut self) -> Option<bool> {
        let most_tries = MOST_TRIES.max(TRIES_EACH * self.candidates.len());
        let mut choices = vec![self.choice(Vec::new(), 0)];
        while self.placed.len() < self.candidates.len() {
            let Some(choice) = choices.last_mut() else { return Some(false) };
            if self.tries > most_tries {
                return None;
            }
            let Some(next) = choice.rest.pop() else {
                let choice = choices.pop().expect("there is a last one");
                self.note(&choice.state.0);
                self.take_back(&choice);
                self.failed.insert(choice.state);
                continue;
            };
            if self.fits(next) {
                let placed_before = self.placed.len();
                let undo = self.place(next);
                let choice = self.choice(undo, placed_before);
                match self.failed.contains(&choice.state) {
                    true => self.take_back(&choice),
                    false => choices.push(choice),
                }
            }
        }
        Some(true)
    }

    /// Computes what can be done after a transaction that changed rows was placed: transactions that change none and
    /// fit are placed at once.
    fn choice(&mut self, undo: Vec<(usize, Option<&'h Version>)>, placed_before: usize) -> Choice<'h> {
        let mut next = self.next();
        loop {
            let before = self.placed.len();
            for &candidate in &next {
                if self.candidates[candidate].steps.leaves.is_empty() && self.fits(candidate) {
                    self.place(candidate);
                }
            }
            if self.placed.len() == before {
                break;
            }
            next = self.next();
        }
        let mut rest: Vec<_> =
            next.iter().copied().filter(|&number| !self.candidates[number].steps.leaves.is_empty()).collect();
        rest.sort_by_key(|&number| Reverse(self.candidates[number].until));
        Choice { undo, placed_before, rest, state: (next, self.rows.fingerprint()) }
    }

    /// Returns the transactions without a place that may come next, because none of the others must come before them.
    fn next(&self) -> Vec<usize> {
        let Some(first) = self.by_until.first() else { return Vec::new() };
        let until = self.candidates[first].until;
        self.by_from.iter().take_while(|&number| self.candidates[number].from <= until).collect()
    }

    fn fits(&mut self, number: usize) -> bool {
        self.tries += 1;
        let candidate = &mut self.candidates[number];
        let fits = self.rows.misfit(&candidate.steps).is_none();
        candidate.has_fitted |= fits;
        fits
    }

    /// Places a transaction. Returns the items that it changed, with their previous versions.
    fn place(&mut self, number: usize) -> Vec<(usize, Option<&'h Version>)> {
        self.by_from.take(number);
        self.by_until.take(number);
        self.placed.push(number);
        let leaves = &self.candidates[number].steps.leaves;
        leaves.iter().map(|&(item, version)| (item, self.rows.set(item, version))).collect()
    }

    fn take_back(&mut self, choice: &Choice<'h>) {
        for &(item, version) in choice.undo.iter().rev() {
            self.rows.set(item, version);
        }
        for number in self.placed.drain(choice.placed_before..).rev() {
            self.by_until.put_back(number);
            self.by_from.put_back(number);
        }
    }

    /// Records how far the search got, and why none of `next` can come next.
    fn note(&mut self, next: &[usize]) {
        if self.farthest.as_ref().is_none_or(|(placed, _)| *placed < self.placed.len()) {
            let rows = &mut self.rows;
            let misfits =
                next.iter().filter_map(|&number| Some((number, rows.misfit(&self.candidates[number].steps)?)));
            self.farthest = Some((self.placed.len(), misfits.collect()));
        }
    }

    /// Determines the transactions that fit nowhere, and the sentences about them.
    fn stuck(self) -> Stuck {
        let (placed, mut misfits) = self.farthest.clone().expect("the search failed somewhere");
        if misfits.iter().any(|&(number, _)| !self.candidates[number].has_fitted) {
            misfits.retain(|&(number, _)| !self.candidates[number].has_fitted);
        }
        let record = |number: usize| &self.history.transactions[self.candidates[number].transaction];
        misfits.sort_by_key(|&(number, _)| (record(number).events.len(), number));
        let mut involved = BTreeSet::new();
        let mut sentences = vec![format!(
            "no order explains what the transactions saw: with {placed} of {} in place, none can come next",
            self.candidates.len()
        )];
        for (number, misfit) in misfits {
            let transaction = self.candidates[number].transaction;
            let maker = misfit.item.and_then(|(_, stamp)| self.maker(stamp?));
            involved.extend(maker.into_iter().chain([transaction]));
            sentences.push(self.sentence(number, misfit, maker));
        }
        Stuck { sentences, involved: involved.into_iter().collect() }
    }

    fn sentence(&self, number: usize, misfit: Misfit, maker: Option<usize>) -> String {
        let Candidate { transaction, has_fitted, .. } = self.candidates[number];
        let name = transaction_name(self.history, transaction);
        let fits = if has_fitted { "does not fit here" } else { "fits nowhere between its begin and its end" };
        let did = &self.history.transactions[transaction].events[misfit.event].operation;
        let there = misfit.item.map(|(item, stamp)| {
            let item = self.items.item(item);
            let maker = maker.map(|maker| format!(", which {} made,", transaction_name(self.history, maker)));
            match stamp {
                Some(stamp) => format!(", but {}{} is there", version_name(item, stamp), maker.unwrap_or_default()),
                None => format!(", but {item} is not there"),
            }
        });
        format!("{name} {fits}: it {did}{}", there.unwrap_or_default())
    }

    /// Returns the transaction that made a version, or `None` if it is an initial version.
    fn maker(&self, stamp: Stamp) -> Option<usize> {
        let makes = |event: &Event| event.operation.made().is_some_and(|made| made.stamp == stamp);
        self.history.transactions.iter().position(|record| record.events.iter().any(makes))
    }
}
