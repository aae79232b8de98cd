//! The search for cycles in a graph of dependencies between transactions.

use crate::edges::Edge;
use std::collections::VecDeque;

/// The number of steps for which a shorter cycle is searched once there is one. The limit matters only for broken
/// histories of very long runs, where any short cycle will do.
const MOST_STEPS: usize = 20_000_000;

/// Returns the edges that satisfy `is_wanted` and are part of a cycle of such edges. `nodes` is the number of
/// transactions. A caller discards all other edges before it searches for cycles.
pub(crate) fn in_cycles(nodes: usize, edges: &[Edge], is_wanted: impl Fn(&Edge) -> bool) -> Vec<Edge> {
    let component = components(nodes, &out_edges(nodes, edges, &is_wanted), edges);
    edges.iter().filter(|edge| component[edge.from] == component[edge.to] && is_wanted(edge)).copied().collect()
}

/// Returns a shortest cycle whose first edge satisfies `is_first` and whose other edges satisfy `is_rest`, or `None` if
/// there is no such cycle. `nodes` is the number of transactions. In very large graphs, the cycle may not be a shortest
/// one.
pub(crate) fn shortest_cycle(
    nodes: usize,
    edges: &[Edge],
    is_first: impl Fn(&Edge) -> bool,
    is_rest: impl Fn(&Edge) -> bool,
) -> Option<Vec<Edge>> {
    let component = components(nodes, &out_edges(nodes, edges, |edge| is_first(edge) || is_rest(edge)), edges);
    let inside = |edge: &Edge| component[edge.from] == component[edge.to];
    let rest = out_edges(nodes, edges, |edge| is_rest(edge) && inside(edge));
    // A path along the remaining edges never returns to an earlier component.
    let order = components(nodes, &rest, edges);
    let mut search = Search {
        edges,
        out: &rest,
        order: &order,
        seen: Vec::new(),
        came_by: vec![None; nodes],
        queue: VecDeque::new(),
        steps: 0,
    };
    let mut best: Option<Vec<usize>> = None;
    for (number, edge) in edges.iter().enumerate().filter(|(_, edge)| is_first(edge) && inside(edge)) {
        let longest = best.as_ref().map_or(usize::MAX, |cycle| cycle.len() - 1);
        if longest < 2 || best.is_some() && search.steps > MOST_STEPS {
            break;
        }
        if let Some(path) = search.shortest_path(edge.to, edge.from, longest) {
            best = Some(std::iter::once(number).chain(path).collect());
        }
    }
    best.map(|cycle| cycle.into_iter().map(|number| edges[number]).collect())
}

/// Returns, for each node, the numbers of the wanted edges that start there.
fn out_edges(nodes: usize, edges: &[Edge], wanted: impl Fn(&Edge) -> bool) -> Vec<Vec<usize>> {
    let mut out = vec![Vec::new(); nodes];
    for (number, edge) in edges.iter().enumerate().filter(|(_, edge)| wanted(edge)) {
        out[edge.from].push(number);
    }
    out
}

/// The state of breadth-first searches over one graph.
struct Search<'g> {
    edges: &'g [Edge],
    out: &'g [Vec<usize>],
    /// The number of each node's component, in an order in which no edge leads to a smaller number.
    order: &'g [usize],
    /// The nodes that were reached. `came_by` holds the edge by which each was reached, which is `None` for the first.
    seen: Vec<usize>,
    came_by: Vec<Option<usize>>,
    queue: VecDeque<(usize, usize)>,
    steps: usize,
}

impl Search<'_> {
    /// Finds a shortest path of fewer than `longest` edges, or returns `None` if there is none.
    fn shortest_path(&mut self, from: usize, to: usize, longest: usize) -> Option<Vec<usize>> {
        for node in self.seen.drain(..) {
            self.came_by[node] = None;
        }
        self.queue.clear();
        if self.order[from] > self.order[to] {
            return None;
        }
        self.seen.push(from);
        self.queue.push_back((from, 0));
        while let Some((node, length)) = self.queue.pop_front() {
            if length >= longest {
                return None;
            }
            if node == to {
                return Some(self.path_to(to));
            }
            self.steps += self.out[node].len();
            for &edge in &self.out[node] {
                let next = self.edges[edge].to;
                if self.order[next] > self.order[to] {
                    continue;
                }
                if next != from && self.came_by[next].is_none() {
                    self.came_by[next] = Some(edge);
                    self.seen.push(next);
                    self.queue.push_back((next, length + 1));
                }
            }
        }
        None
    }

    fn path_to(&self, to: usize) -> Vec<usize> {
        let mut path = Vec::new();
        let mut at = to;
        while let Some(edge) = self.came_by[at] {
            path.push(edge);
            at = self.edges[edge].from;
        }
        path.reverse();
        path
    }
}

/// Returns the number of each node's strongly connected component (Kosaraju's algorithm, with its own stack).
/// Components are numbered so that an edge never leads to a smaller number.
fn components(nodes: usize, out: &[Vec<usize>], edges: &[Edge]) -> Vec<usize> {
    let mut into = vec![Vec::new(); nodes];
    for &edge in out.iter().flatten() {
        into[edges[edge].to].push(edges[edge].from);
    }
    let mut component = vec![usize::MAX; nodes];
    for (number, root) in finish_order(nodes, out, edges).into_iter().rev().enumerate() {
        let mut stack = vec![root];
        while let Some(node) = stack.pop() {
            if component[node] == usize::MAX {
                component[node] = number;
                stack.extend(&into[node]);
            }
        }
    }
    component
}

/// Returns the nodes in the order in which a depth-first search leaves them.
fn finish_order(nodes: usize, out: &[Vec<usize>], edges: &[Edge]) -> Vec<usize> {
    let (mut order, mut seen) = (Vec::with_capacity(nodes), vec![false; nodes]);
    for root in 0..nodes {
        if std::mem::replace(&mut seen[root], true) {
            continue;
        }
        let mut stack = vec![(root, 0)];
        while let Some((node, next)) = stack.last_mut() {
            let Some(&edge) = out[*node].get(*next) else {
                order.push(*node);
                stack.pop();
                continue;
            };
            *next += 1;
            let to = edges[edge].to;
            if !std::mem::replace(&mut seen[to], true) {
                stack.push((to, 0));
            }
        }
    }
    order
}
