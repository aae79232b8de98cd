//! An ordered set from which members are taken and to which they are returned.

/// The numbers of the transactions that are not yet placed in the serial order, in a fixed order. Removing one, and
/// putting back the one that was removed last, take constant time (Knuth's dancing links).
#[derive(Debug)]
pub(super) struct Queue {
    /// The links to the next and the previous member, by the member's number. The last entry is that of both ends.
    next: Vec<usize>,
    previous: Vec<usize>,
}

impl Queue {
    /// Makes a queue of the members from 0 to `count - 1`, in the order of the list `order`, which must hold all of
    /// them.
    pub fn new(count: usize, order: &[usize]) -> Self {
        let mut queue = Self { next: vec![count; count + 1], previous: vec![count; count + 1] };
        let mut last = count;
        for &member in order {
            (queue.next[last], queue.previous[member]) = (member, last);
            last = member;
        }
        (queue.next[last], queue.previous[count]) = (count, last);
        queue
    }

    /// Returns the first member, or `None` if the queue is empty.
    pub fn first(&self) -> Option<usize> {
        self.iter().next()
    }

    /// Iterates over the members in their order.
    pub fn iter(&self) -> impl Iterator<Item = usize> {
        let end = self.next.len() - 1;
        let there = move |member: usize| (member != end).then_some(member);
        std::iter::successors(there(self.next[end]), move |&member| there(self.next[member]))
    }

    /// Removes a member, which must be in the queue.
    pub fn take(&mut self, member: usize) {
        let (previous, next) = (self.previous[member], self.next[member]);
        (self.next[previous], self.previous[next]) = (next, previous);
    }

    /// Puts a removed member back at its former position. It must be the one that was removed last and is not back.
    pub fn put_back(&mut self, member: usize) {
        let (previous, next) = (self.previous[member], self.next[member]);
        (self.next[previous], self.previous[next]) = (member, member);
    }
}

#[cfg(test)]
mod tests {
    use super::Queue;

    #[test]
    fn members_go_and_come_back() {
        let mut queue = Queue::new(4, &[2, 0, 3, 1]);
        let members = |queue: &Queue| queue.iter().collect::<Vec<_>>();
        for (taken, left) in [(2, vec![0, 3, 1]), (1, vec![0, 3]), (0, vec![3]), (3, vec![])] {
            queue.take(taken);
            assert_eq!(members(&queue), left);
            assert_eq!(queue.first(), left.first().copied());
        }
        for (back, there) in [(3, vec![3]), (0, vec![0, 3]), (1, vec![0, 3, 1]), (2, vec![2, 0, 3, 1])] {
            queue.put_back(back);
            assert_eq!(members(&queue), there);
        }
    }
}
