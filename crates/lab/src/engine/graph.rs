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

    /// So many states; `next(state, move)` must be smaller than the state, or nothing.
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

    /// The smallest and the largest difference that a charge makes: states closer than the first do not depend on each other, and
    /// none looks further back than the second.
    pub(crate) fn strides(&self) -> (usize, usize) {
        let mut strides = (usize::MAX, 1);
        for state in 0..self.states() {
            for at in 0..self.moves.len() {
                if let Some(to) = self.after(state, at) {
                    strides = (strides.0.min(state - to), strides.1.max(state - to));
                }
            }
        }
        (strides.0.min(self.states()), strides.1)
    }
}
