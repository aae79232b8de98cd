//! Strongly connected components of a small graph.
//!
//! **Source.** Tarjan: "Depth-First Search and Linear Graph Algorithms", *strong connectivity*.

/// The number of a node that has not been met yet.
const UNSEEN: usize = usize::MAX;

/// Returns for each node the number of its strongly connected component: equal for nodes that can reach each other.
/// `edges` has for each node the nodes that it leads to.
pub(super) fn components(edges: &[Vec<usize>]) -> Vec<usize> {
    let mut search = Search {
        number: vec![UNSEEN; edges.len()],
        low: vec![0; edges.len()],
        component: vec![UNSEEN; edges.len()],
        stack: Vec::new(),
        numbered: 0,
        found: 0,
    };
    for root in 0..edges.len() {
        if search.number[root] == UNSEEN {
            search.from(root, edges);
        }
    }
    search.component
}

struct Search {
    /// The order in which the nodes were met.
    number: Vec<usize>,
    /// The lowest number that a node's subtree leads to.
    low: Vec<usize>,
    component: Vec<usize>,
    /// Nodes that were met and have no component yet.
    stack: Vec<usize>,
    numbered: usize,
    found: usize,
}

impl Search {
    fn from(&mut self, root: usize, edges: &[Vec<usize>]) {
        // Nodes on the way from the root, each with how many of its edges were followed.
        let mut way = Vec::new();
        self.meet(root, &mut way);
        while let Some((node, followed)) = way.last_mut() {
            let node = *node;
            if let Some(&next) = edges[node].get(*followed) {
                *followed += 1;
                if self.number[next] == UNSEEN {
                    self.meet(next, &mut way);
                } else if self.component[next] == UNSEEN {
                    self.low[node] = self.low[node].min(self.number[next]);
                }
                continue;
            }
            way.pop();
            if let Some(&(parent, _)) = way.last() {
                self.low[parent] = self.low[parent].min(self.low[node]);
            }
            if self.low[node] == self.number[node] {
                self.close(node);
            }
        }
    }

    fn meet(&mut self, node: usize, way: &mut Vec<(usize, usize)>) {
        (self.number[node], self.low[node]) = (self.numbered, self.numbered);
        self.numbered += 1;
        self.stack.push(node);
        way.push((node, 0));
    }

    /// Makes a component of `first` and of the nodes that were met since and have none yet. `first` leads to no node
    /// that was met before it.
    fn close(&mut self, first: usize) {
        while let Some(node) = self.stack.pop() {
            self.component[node] = self.found;
            if node == first {
                break;
            }
        }
        self.found += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns for each node whether edges lead to it from `from`, directly or through other nodes.
    fn reached(edges: &[Vec<usize>], from: usize) -> Vec<bool> {
        let mut reached = vec![false; edges.len()];
        let mut open = vec![from];
        while let Some(node) = open.pop() {
            if !std::mem::replace(&mut reached[node], true) {
                open.extend(&edges[node]);
            }
        }
        reached
    }

    #[test]
    fn a_long_chain_needs_no_deep_stack() {
        const NODES: usize = 100_000;
        let ring: Vec<_> = (0..NODES).map(|node| vec![(node + 1) % NODES]).collect();
        assert!(components(&ring).iter().all(|&component| component == 0));
    }

    proptest! {
        #[test]
        fn those_that_reach_each_other_are_one_component(edges in (1usize..9).prop_flat_map(|nodes| {
            proptest::collection::vec(proptest::collection::vec(0..nodes, 0..4), nodes)
        })) {
            let found = components(&edges);
            let reached: Vec<_> = (0..edges.len()).map(|node| reached(&edges, node)).collect();
            for one in 0..edges.len() {
                for other in 0..edges.len() {
                    let both_ways = reached[one][other] && reached[other][one];
                    prop_assert_eq!(found[one] == found[other], both_ways, "{} and {}", one, other);
                }
            }
        }
    }
}
