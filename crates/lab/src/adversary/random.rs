//! The random adversary: a strategy without a plan.

use std::sync::Arc;

use super::Adversary;
use crate::mechanism::Mechanism;
use crate::random::Generator;
use crate::view::View;

/// Plays mechanisms drawn from a menu and stops with a given probability before each round.
#[derive(Debug)]
pub struct Random {
    menu: Arc<[Mechanism]>,
    stop_probability: f64,
    coins: Generator,
}

impl Random {
    /// Draws from a menu with its own coins.
    pub fn new(menu: impl Into<Arc<[Mechanism]>>, stop_probability: f64, coins: Generator) -> Random {
        Random { menu: menu.into(), stop_probability, coins }
    }
}

impl Adversary for Random {
    fn next(&mut self, _view: &View) -> Option<Mechanism> {
        if self.coins.happens(self.stop_probability) {
            return None;
        }
        self.menu.get(self.coins.one_of(self.menu.len())).copied()
    }
}
