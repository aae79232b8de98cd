//! Cycles of dependencies.

use crate::edges::{Edge, EdgeKind};
use std::collections::{HashSet, VecDeque};

/// Which cycles are looked for: one edge of a kind among `first`, then edges of kinds among `rest`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub first: &'static [EdgeKind],
    pub rest: &'static [EdgeKind],
}

/// A shortest cycle of this shape among `nodes` transactions.
pub(crate) fn shortest_cycle(nodes: usize, edges: &[Edge], shape: Shape) -> Option<Vec<Edge>> {
    let is_first = |edge: &Edge| shape.first.contains(&edge.kind);
    let is_rest = |edge: &Edge| shape.rest.contains(&edge.kind);
    let components = components(nodes, &out_edges(nodes, edges, |edge| is_first(edge) || is_rest(edge)), edges);
    let inside = |edge: &Edge| components[edge.from] == components[edge.to];
    let rest = out_edges(nodes, edges, |edge| is_rest(edge) && inside(edge));
    let mut tried = HashSet::new();
    let mut best: Option<Vec<usize>> = None;
    for (number, edge) in edges.iter().enumerate() {
        if is_first(edge) && inside(edge) && tried.insert((edge.from, edge.to)) {
            let longest = best.as_ref().map_or(usize::MAX, |cycle| cycle.len() - 1);
            if let Some(path) = shortest_path(&rest, edges, edge.to, edge.from, longest) {
                best = Some(std::iter::once(number).chain(path).collect());
            }
        }
    }
    best.map(|cycle| cycle.into_iter().map(|number| edges[number].clone()).collect())
}

/// The numbers of the wanted edges, by where they start.
fn out_edges(nodes: usize, edges: &[Edge], wanted: impl Fn(&Edge) -> bool) -> Vec<Vec<usize>> {
    let mut out = vec![Vec::new(); nodes];
    for (number, edge) in edges.iter().enumerate().filter(|(_, edge)| wanted(edge)) {
        out[edge.from].push(number);
    }
    out
}

/// A shortest path, in edges, of fewer than `longest` edges.
fn shortest_path(out: &[Vec<usize>], edges: &[Edge], from: usize, to: usize, longest: usize) -> Option<Vec<usize>> {
    let mut came_by: Vec<Option<usize>> = vec![None; out.len()];
    let mut queue = VecDeque::from([(from, 0)]);
    let mut seen = HashSet::from([from]);
    while let Some((node, length)) = queue.pop_front() {
        if length >= longest {
            return None;
        }
        if node == to {
            let mut path = Vec::new();
            let mut at = to;
            while let Some(edge) = came_by[at] {
                path.push(edge);
                at = edges[edge].from;
            }
            path.reverse();
            return Some(path);
        }
        for &edge in &out[node] {
            if seen.insert(edges[edge].to) {
                came_by[edges[edge].to] = Some(edge);
                queue.push_back((edges[edge].to, length + 1));
            }
        }
    }
    None
}

/// The strongly connected component of each node (Kosaraju's algorithm, with its own stack).
fn components(nodes: usize, out: &[Vec<usize>], edges: &[Edge]) -> Vec<usize> {
    let mut into = vec![Vec::new(); nodes];
    for &edge in out.iter().flatten() {
        into[edges[edge].to].push(edges[edge].from);
    }
    let mut component = vec![usize::MAX; nodes];
    for root in finish_order(nodes, out, edges).into_iter().rev() {
        let mut stack = vec![root];
        while let Some(node) = stack.pop() {
            if component[node] == usize::MAX {
                component[node] = root;
                stack.extend(&into[node]);
            }
        }
    }
    component
}

/// The nodes in the order in which a depth-first search leaves them.
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
