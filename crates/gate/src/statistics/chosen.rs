//! Intervals of numbers that are shown because of their noisy values.
//!
//! A noisy number y = θ + noise that is shown only from t on was helped by its noise, so y ± the reach of the noise holds too rarely.
//! Given that it is shown, y has the law of θ + noise cut off at t. For every θ, the y that are thought possible are those from
//! θ − q to b(θ), where q is the reach of the noise without any choice, and b(θ) is such that no more than `miss` of what is shown
//! lies outside. So the interval, all θ for which y is possible, misses given that y is shown with a probability of `miss`, whatever θ
//! is; but for the steps of whole numbers, exactly. It begins where b(θ) reaches y, and ends at y + q: a choice from below only makes
//! numbers too large. What is shown up to t is the same with all signs turned.
//!
//! With Laplace noise, the law of y given that it is shown is the same for all θ below t. So where y is less than 3 scales above t,
//! the interval has no lower end, and something else has to give one: that a group has a row, or intervals of all groups that hold
//! together ([`simultaneous_miss`](super::simultaneous_miss)) with a small part of `miss`. Taking the common part of two intervals adds
//! up what they miss (Andrews, Kitagawa, McCloskey, *Inference on winners*, QJE 139(1), 2024, call it hybrid inference). For the k
//! largest of several numbers, t is the k-th largest of the others, which are independent of y.

use super::law::NoiseLaw;

/// Which noisy values of a number are shown, in steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shown {
    AtLeast(i128),
    AtMost(i128),
}

impl Shown {
    /// The stricter of two bounds on the same side; `None` if they are on different sides.
    pub(crate) fn and(self, other: Shown) -> Option<Shown> {
        match (self, other) {
            (Shown::AtLeast(one), Shown::AtLeast(other)) => Some(Shown::AtLeast(one.max(other))),
            (Shown::AtMost(one), Shown::AtMost(other)) => Some(Shown::AtMost(one.min(other))),
            _ => None,
        }
    }

    pub(crate) fn contains(self, steps: i128) -> bool {
        match self {
            Shown::AtLeast(least) => steps >= least,
            Shown::AtMost(most) => steps <= most,
        }
    }

    /// How far a shown number is from its bound.
    fn gap(self, noisy: i128) -> i128 {
        match self {
            Shown::AtLeast(least) => noisy.saturating_sub(least),
            Shown::AtMost(most) => most.saturating_sub(noisy),
        }
    }

    /// The interval of what is noisy, given that it is shown: it misses with the probability `miss`, and `reach` is what the noise
    /// exceeds on either side together with that probability. On the side of the bound it ends at most `most` steps away.
    pub(crate) fn interval(self, noisy: i128, law: NoiseLaw, miss: f64, reach: i128, most: i128) -> [i128; 2] {
        let helped = helped(law, self.gap(noisy) as f64, reach as f64, miss, most as f64) as i128;
        match self {
            Shown::AtLeast(_) => [noisy.saturating_sub(helped), noisy.saturating_add(reach)],
            Shown::AtMost(_) => [noisy.saturating_sub(reach), noisy.saturating_add(helped)],
        }
    }
}

/// The most that noise may have helped a number that is shown `gap` steps above its bound, and not more than `most`.
fn helped(law: NoiseLaw, gap: f64, reach: f64, miss: f64, most: f64) -> f64 {
    let is_possible = |noise: f64| {
        let shown = law.survival(noise - gap);
        // Of what is shown, the part that lies further below than noise reaches.
        let below = (1.0 - law.survival(-reach) / shown).max(0.0);
        law.survival(noise) / shown > miss - below
    };
    // From here on, the tail of the law tells nothing more.
    let far = gap + law.upper_quantile(1e-12) + 1.0;
    if is_possible(far.min(most)) {
        return most;
    }
    let (mut possible, mut impossible) = (0.0, far.min(most));
    while impossible - possible > 1.0 {
        let middle = ((possible + impossible) / 2.0).floor();
        if is_possible(middle) { possible = middle } else { impossible = middle }
    }
    possible
}
