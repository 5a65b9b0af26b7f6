//! The states of a rule under a grid of costs, as a graph in which every charge leads to a smaller state.

use rayon::prelude::*;

/// A rule's states, numbered so that a charge always leads to a smaller number.
#[derive(Clone, Debug)]
pub struct StateGraph {
    /// The costs of the grid, in steps of the lattice.
    pub moves: Vec<u32>,
    /// Where each move leads from each state: `next[state * moves.len() + move]`, or [`StateGraph::HALT`].
    next: Vec<u32>,
    /// The state with nothing charged.
    pub start: usize,
}

impl StateGraph {
    /// The rule halts.
    pub const HALT: u32 = u32::MAX;

    /// A graph of a number of states; `next(state, move)` must be smaller than the state, or nothing.
    pub fn new(moves: &[u32], states: usize, next: impl Fn(usize, usize) -> Option<usize> + Sync) -> StateGraph {
        let entry = |index: usize| {
            let (state, at) = (index / moves.len(), index % moves.len());
            match next(state, at) {
                Some(to) => {
                    assert!(to < state, "a charge must lead to a smaller state, not from {state} to {to}");
                    u32::try_from(to).expect("fewer than four billion states")
                }
                None => StateGraph::HALT,
            }
        };
        let table = (0..states * moves.len()).into_par_iter().with_min_len(1024).map(entry).collect();
        StateGraph { moves: moves.to_vec(), next: table, start: states.saturating_sub(1) }
    }

    /// How many states there are.
    pub fn states(&self) -> usize {
        self.next.len() / self.moves.len().max(1)
    }

    /// Where a move leads; nothing if the rule halts.
    pub fn after(&self, state: usize, at: usize) -> Option<usize> {
        let to = self.next[state * self.moves.len() + at];
        (to != StateGraph::HALT).then_some(to as usize)
    }

    /// The most that charges from the start to each state add up to, each counted by its size in steps; nothing for a state that no
    /// charges lead to.
    pub fn furthest(&self, size: impl Fn(u32) -> u32) -> Vec<Option<u32>> {
        let mut furthest: Vec<Option<u32>> = vec![None; self.states()];
        if let Some(start) = furthest.get_mut(self.start) {
            *start = Some(0);
        }
        for state in (0..self.states()).rev() {
            let Some(so_far) = furthest[state] else { continue };
            for (at, &steps) in self.moves.iter().enumerate() {
                if let Some(to) = self.after(state, at) {
                    furthest[to] = furthest[to].max(Some(so_far.saturating_add(size(steps))));
                }
            }
        }
        furthest
    }

    /// Where a state leads, move by move.
    pub(crate) fn successors(&self, state: usize) -> impl Iterator<Item = usize> {
        (0..self.moves.len()).filter_map(move |at| self.after(state, at))
    }
}
