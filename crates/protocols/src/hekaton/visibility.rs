//! Rules of visibility and replacement of versions: the paper's Tables 1 and 2, and §2.6, as tables.
//!
//! Nothing here reads memory. [`look`](super::look) reads the words, finds the states of the transactions that they
//! name, and calls these functions. If the answer is `Again`, one of those transactions was over, and the words must be
//! read again.
//!
//! In Table 2 the paper repeats, for an End word of another active transaction, the text that Table 1 has for a Begin
//! word. The prose of §2.5 is right: the version is visible, since the other transaction has not ended yet.

use super::clock::Timestamp;
use super::status::State;
use super::txn_id::TxnId;

/// The transaction whose id stands in a word, and how far it has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// The transaction that looks.
    Me,
    /// Another transaction, and its state.
    Other(TxnId, State),
}

/// A version's Begin word, with the transaction that it names looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BeginWord {
    At(Timestamp),
    By(Owner),
}

/// A version's End word, with the transaction that it names looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EndWord {
    At(Timestamp),
    Nobody,
    /// The transaction that looks holds the write lock, and has not replaced the version.
    Kept,
    By(Owner),
}

/// Whether one of a version's two words lets a transaction see the version. `Again` means that the words must be read
/// again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sight {
    Yes,
    No,
    /// The version is visible if this transaction commits (speculative read).
    YesIf(TxnId),
    /// The version is visible unless this transaction commits (speculative ignore).
    NoIf(TxnId),
    Again,
}

/// Returns, by Table 1, whether a version has begun at `read_time`.
pub(super) fn begin_sight(begin: BeginWord, read_time: Timestamp) -> Sight {
    let has_begun = |time: Timestamp| if time <= read_time { Sight::Yes } else { Sight::No };
    match begin {
        BeginWord::At(time) => has_begun(time),
        BeginWord::By(Owner::Me) => Sight::Yes,
        BeginWord::By(Owner::Other(id, state)) => match state {
            State::Active => Sight::No,
            State::Preparing(time) if time <= read_time => Sight::YesIf(id),
            State::Preparing(_) => Sight::No,
            State::Committed(time) => has_begun(time),
            State::Aborted => Sight::No,
            State::Gone => Sight::Again,
        },
    }
}

/// Returns, by Table 2, whether a version that has begun has not ended at `read_time`.
pub(super) fn end_sight(end: EndWord, read_time: Timestamp) -> Sight {
    let has_not_ended = |time: Timestamp| if read_time < time { Sight::Yes } else { Sight::No };
    match end {
        EndWord::At(time) => has_not_ended(time),
        EndWord::Nobody | EndWord::Kept => Sight::Yes,
        EndWord::By(Owner::Me) => Sight::No,
        EndWord::By(Owner::Other(id, state)) => match state {
            State::Active => Sight::Yes,
            State::Preparing(time) if read_time < time => Sight::Yes,
            State::Preparing(_) => Sight::NoIf(id),
            State::Committed(time) => has_not_ended(time),
            State::Aborted => Sight::Yes,
            State::Gone => Sight::Again,
        },
    }
}

/// The answer to whether a version that is seen can be replaced (§2.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Updatability {
    /// The write lock of the version is free, or its holder has aborted.
    Yes,
    /// The transaction that looks holds the write lock of the version already.
    Mine,
    /// The version is not the latest, or will stop being the latest unless the holder of its write lock aborts.
    Superseded,
    /// An active transaction has its write lock: the first writer wins.
    Conflict,
    Again,
}

/// Returns whether a version that the transaction sees can be replaced (§2.6).
pub(super) fn updatability(end: EndWord) -> Updatability {
    match end {
        EndWord::At(_) => Updatability::Superseded,
        EndWord::Nobody => Updatability::Yes,
        EndWord::Kept | EndWord::By(Owner::Me) => Updatability::Mine,
        EndWord::By(Owner::Other(_, state)) => match state {
            State::Active => Updatability::Conflict,
            State::Preparing(_) | State::Committed(_) => Updatability::Superseded,
            State::Aborted => Updatability::Yes,
            State::Gone => Updatability::Again,
        },
    }
}

/// The answer to whether a read at the transaction's read time is the same at its end (§3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Validity {
    Yes,
    No,
    Again,
}

/// Returns whether a version that was seen is seen at `end_time`, too. A transaction that is preparing, and ends the
/// version before `end_time`, is taken to commit.
pub(super) fn still_seen(end: EndWord, end_time: Timestamp) -> Validity {
    match (end, end_sight(end, end_time)) {
        // The transaction replaced it itself, so no other one did.
        (EndWord::By(Owner::Me), _) | (_, Sight::Yes) => Validity::Yes,
        (_, Sight::No | Sight::NoIf(_)) => Validity::No,
        (_, Sight::YesIf(_) | Sight::Again) => Validity::Again,
    }
}

/// Returns whether a version that a scan walks over again is no phantom: it was there at `read_time`, or is not there
/// at `end_time`. A transaction that is preparing to make the version earlier than that is taken to commit, and one
/// that is preparing to end the version is not.
pub(super) fn is_no_phantom(begin: BeginWord, end: EndWord, read_time: Timestamp, end_time: Timestamp) -> Validity {
    let began = match begin {
        BeginWord::At(time) | BeginWord::By(Owner::Other(_, State::Preparing(time) | State::Committed(time))) => time,
        BeginWord::By(Owner::Me | Owner::Other(_, State::Active | State::Aborted)) => return Validity::Yes,
        BeginWord::By(Owner::Other(_, State::Gone)) => return Validity::Again,
    };
    if began <= read_time || end_time < began {
        return Validity::Yes;
    }
    match end_sight(end, end_time) {
        Sight::No => Validity::Yes,
        Sight::Yes | Sight::NoIf(_) => Validity::No,
        Sight::YesIf(_) | Sight::Again => Validity::Again,
    }
}

/// The answer to whether a version that is not seen can become a row, for a transaction that locks what it walks over
/// (§4.2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Absence {
    /// The version is no row, and never will be.
    Stays,
    /// An active transaction, with this id, has made the version. Unless it aborts the version becomes a row, so it
    /// must end after the transaction that looks.
    Imposes(TxnId),
    /// The version is the row from a time after the read time on, or is about to be.
    Later,
    Again,
}

/// Returns whether a version that is not seen at `read_time` can become a row, for a transaction that locks what it
/// walks over.
pub(super) fn absence(begin: BeginWord, read_time: Timestamp) -> Absence {
    match begin {
        BeginWord::At(Timestamp::INFINITY) => Absence::Stays,
        BeginWord::At(time) | BeginWord::By(Owner::Other(_, State::Preparing(time) | State::Committed(time))) => {
            if time <= read_time { Absence::Stays } else { Absence::Later }
        }
        BeginWord::By(Owner::Other(id, State::Active)) => Absence::Imposes(id),
        BeginWord::By(Owner::Me | Owner::Other(_, State::Aborted)) => Absence::Stays,
        BeginWord::By(Owner::Other(_, State::Gone)) => Absence::Again,
    }
}

/// The answer to whether a new version may have its key, given another version with the same key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Claim {
    Free,
    /// The key is free if this transaction commits, and taken otherwise.
    FreeIf(TxnId),
    /// There is a row with this key.
    Taken,
    /// The key is taken if this transaction commits, and free otherwise.
    TakenIf(TxnId),
    /// Another active transaction has inserted or is about to end the version: the first writer wins.
    Conflict,
    /// Another transaction has inserted or ended the version after the read time. A change that the transaction cannot
    /// see must neither refuse the new version nor admit it.
    Unseen,
    Again,
}

/// Returns whether another version, whose words these are, has the key of a version that the transaction has linked.
/// `read_time` was drawn after the new version was linked.
pub(super) fn uniqueness(begin: BeginWord, end: EndWord, read_time: Timestamp) -> Claim {
    let is_unseen = |time: Timestamp| read_time < time;
    let taken = match begin {
        BeginWord::At(Timestamp::INFINITY) => return Claim::Free,
        BeginWord::By(Owner::Other(_, State::Gone)) => return Claim::Again,
        BeginWord::By(Owner::Other(_, State::Aborted)) => return Claim::Free,
        BeginWord::By(Owner::Other(_, State::Active)) => return Claim::Conflict,
        BeginWord::By(Owner::Me) => Claim::Taken,
        BeginWord::By(Owner::Other(id, State::Preparing(time))) if !is_unseen(time) => Claim::TakenIf(id),
        BeginWord::At(time) | BeginWord::By(Owner::Other(_, State::Committed(time))) if !is_unseen(time) => {
            Claim::Taken
        }
        BeginWord::At(_) | BeginWord::By(Owner::Other(_, State::Preparing(_) | State::Committed(_))) => Claim::Unseen,
    };
    match end {
        EndWord::At(time) | EndWord::By(Owner::Other(_, State::Committed(time) | State::Preparing(time)))
            if is_unseen(time) =>
        {
            Claim::Unseen
        }
        EndWord::At(_) | EndWord::By(Owner::Other(_, State::Committed(_))) => Claim::Free,
        EndWord::By(Owner::Other(id, State::Preparing(_))) => Claim::FreeIf(id),
        EndWord::By(Owner::Me) => Claim::Free,
        EndWord::By(Owner::Other(_, State::Gone)) => Claim::Again,
        EndWord::By(Owner::Other(_, State::Active)) => Claim::Conflict,
        EndWord::Nobody | EndWord::Kept | EndWord::By(Owner::Other(_, State::Aborted)) => taken,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EARLY: Timestamp = Timestamp(10);
    const READ: Timestamp = Timestamp(20);
    const LATE: Timestamp = Timestamp(30);
    const END: Timestamp = Timestamp(40);
    const LAST: Timestamp = Timestamp(50);
    const OTHER: TxnId = TxnId(7 << 16);
    const SECOND: TxnId = TxnId(8 << 16);

    fn begin_by(state: State) -> BeginWord {
        BeginWord::By(Owner::Other(OTHER, state))
    }

    fn end_by(state: State) -> EndWord {
        EndWord::By(Owner::Other(SECOND, state))
    }

    #[test]
    fn table_1() {
        let table = [
            (BeginWord::At(EARLY), Sight::Yes),
            (BeginWord::At(READ), Sight::Yes),
            (BeginWord::At(LATE), Sight::No),
            (BeginWord::At(Timestamp::INFINITY), Sight::No),
            (BeginWord::By(Owner::Me), Sight::Yes),
            (begin_by(State::Active), Sight::No),
            (begin_by(State::Preparing(EARLY)), Sight::YesIf(OTHER)),
            (begin_by(State::Preparing(READ)), Sight::YesIf(OTHER)),
            (begin_by(State::Preparing(LATE)), Sight::No),
            (begin_by(State::Committed(EARLY)), Sight::Yes),
            (begin_by(State::Committed(READ)), Sight::Yes),
            (begin_by(State::Committed(LATE)), Sight::No),
            (begin_by(State::Aborted), Sight::No),
            (begin_by(State::Gone), Sight::Again),
        ];
        for (begin, expected) in table {
            assert_eq!(begin_sight(begin, READ), expected, "{begin:?}");
        }
    }

    #[test]
    fn table_2_and_updatability() {
        use Updatability::{Conflict, Mine, Superseded};
        let table = [
            (EndWord::At(EARLY), Sight::No, Superseded),
            (EndWord::At(READ), Sight::No, Superseded),
            (EndWord::At(LATE), Sight::Yes, Superseded),
            (EndWord::Nobody, Sight::Yes, Updatability::Yes),
            (EndWord::Kept, Sight::Yes, Mine),
            (EndWord::By(Owner::Me), Sight::No, Mine),
            (end_by(State::Active), Sight::Yes, Conflict),
            (end_by(State::Preparing(EARLY)), Sight::NoIf(SECOND), Superseded),
            (end_by(State::Preparing(READ)), Sight::NoIf(SECOND), Superseded),
            (end_by(State::Preparing(LATE)), Sight::Yes, Superseded),
            (end_by(State::Committed(EARLY)), Sight::No, Superseded),
            (end_by(State::Committed(READ)), Sight::No, Superseded),
            (end_by(State::Committed(LATE)), Sight::Yes, Superseded),
            (end_by(State::Aborted), Sight::Yes, Updatability::Yes),
            (end_by(State::Gone), Sight::Again, Updatability::Again),
        ];
        for (end, seen, updatable) in table {
            assert_eq!(end_sight(end, READ), seen, "{end:?}");
            assert_eq!(updatability(end), updatable, "{end:?}");
        }
    }

    #[test]
    fn what_was_read_is_valid_unless_somebody_ended_it_before_the_end() {
        let table = [
            (EndWord::At(LATE), Validity::No),
            (EndWord::At(LAST), Validity::Yes),
            (EndWord::Nobody, Validity::Yes),
            (EndWord::Kept, Validity::Yes),
            (EndWord::By(Owner::Me), Validity::Yes),
            (end_by(State::Active), Validity::Yes),
            (end_by(State::Preparing(LATE)), Validity::No),
            (end_by(State::Preparing(LAST)), Validity::Yes),
            (end_by(State::Committed(LATE)), Validity::No),
            (end_by(State::Committed(LAST)), Validity::Yes),
            (end_by(State::Aborted), Validity::Yes),
            (end_by(State::Gone), Validity::Again),
        ];
        for (end, expected) in table {
            assert_eq!(still_seen(end, END), expected, "{end:?}");
        }
    }

    #[test]
    fn a_phantom_began_between_the_read_time_and_the_end() {
        let ends = [
            (EndWord::At(LATE), Validity::Yes),
            (EndWord::At(LAST), Validity::No),
            (EndWord::Nobody, Validity::No),
            (end_by(State::Active), Validity::No),
            (end_by(State::Preparing(LATE)), Validity::No),
            (end_by(State::Preparing(LAST)), Validity::No),
            (end_by(State::Committed(LATE)), Validity::Yes),
            (end_by(State::Committed(LAST)), Validity::No),
            (end_by(State::Aborted), Validity::No),
            (end_by(State::Gone), Validity::Again),
        ];
        let between = Timestamp(25);
        let suspects =
            [BeginWord::At(between), begin_by(State::Preparing(between)), begin_by(State::Committed(between))];
        let harmless = [
            BeginWord::At(EARLY),
            BeginWord::At(READ),
            BeginWord::At(LAST),
            BeginWord::At(Timestamp::INFINITY),
            BeginWord::By(Owner::Me),
            begin_by(State::Active),
            begin_by(State::Preparing(LAST)),
            begin_by(State::Committed(EARLY)),
            begin_by(State::Aborted),
        ];
        for (end, expected) in ends {
            for begin in suspects {
                assert_eq!(is_no_phantom(begin, end, READ, END), expected, "{begin:?} {end:?}");
            }
            for begin in harmless {
                assert_eq!(is_no_phantom(begin, end, READ, END), Validity::Yes, "{begin:?} {end:?}");
            }
            assert_eq!(is_no_phantom(begin_by(State::Gone), end, READ, END), Validity::Again);
        }
    }

    #[test]
    fn what_is_not_seen_stays_so_or_must_wait_or_is_looked_at_later() {
        let table = [
            (BeginWord::At(EARLY), Absence::Stays),
            (BeginWord::At(READ), Absence::Stays),
            (BeginWord::At(LATE), Absence::Later),
            (BeginWord::At(Timestamp::INFINITY), Absence::Stays),
            (BeginWord::By(Owner::Me), Absence::Stays),
            (begin_by(State::Active), Absence::Imposes(OTHER)),
            (begin_by(State::Preparing(READ)), Absence::Stays),
            (begin_by(State::Preparing(LATE)), Absence::Later),
            (begin_by(State::Committed(READ)), Absence::Stays),
            (begin_by(State::Committed(LATE)), Absence::Later),
            (begin_by(State::Aborted), Absence::Stays),
            (begin_by(State::Gone), Absence::Again),
        ];
        for (begin, expected) in table {
            assert_eq!(absence(begin, READ), expected, "{begin:?}");
        }
    }

    #[test]
    fn a_key_is_free_taken_or_somebody_elses_to_decide() {
        use Claim::{Again, Conflict, Free, FreeIf, Taken, TakenIf, Unseen};
        // By begin: whether its version may be there, with no transaction ending it.
        let begins = [
            (BeginWord::At(EARLY), Taken),
            (BeginWord::At(READ), Taken),
            (BeginWord::At(LATE), Unseen),
            (BeginWord::At(Timestamp::INFINITY), Free),
            (BeginWord::By(Owner::Me), Taken),
            (begin_by(State::Active), Conflict),
            (begin_by(State::Preparing(EARLY)), TakenIf(OTHER)),
            (begin_by(State::Preparing(LATE)), Unseen),
            (begin_by(State::Committed(EARLY)), Taken),
            (begin_by(State::Committed(LATE)), Unseen),
            (begin_by(State::Aborted), Free),
            (begin_by(State::Gone), Again),
        ];
        for (begin, expected) in begins {
            for end in [EndWord::Nobody, EndWord::Kept, end_by(State::Aborted)] {
                assert_eq!(uniqueness(begin, end, READ), expected, "{begin:?} {end:?}");
            }
        }
        // By end, of a version that may be there.
        let ends = [
            (EndWord::At(EARLY), Free),
            (EndWord::At(READ), Free),
            (EndWord::At(LATE), Unseen),
            (EndWord::By(Owner::Me), Free),
            (end_by(State::Active), Conflict),
            (end_by(State::Preparing(READ)), FreeIf(SECOND)),
            (end_by(State::Preparing(LATE)), Unseen),
            (end_by(State::Committed(READ)), Free),
            (end_by(State::Committed(LATE)), Unseen),
            (end_by(State::Gone), Again),
        ];
        for (end, expected) in ends {
            for begin in [BeginWord::At(EARLY), BeginWord::By(Owner::Me), begin_by(State::Committed(EARLY))] {
                assert_eq!(uniqueness(begin, end, READ), expected, "{begin:?} {end:?}");
            }
        }
    }
}
