//! The odometer rules, each defined once: its name, its theorem, what it takes, its parameters, a sentence for people.

use std::ops::Bound;

use super::OdometerSpec;
use crate::amount::Amount;
use crate::cost::{Cost, CostKind, Number, PrivacyMeasure, parameter};
use crate::error::{Error, ErrorKind};
use crate::theorem::{Theorem, answer_from_theorem};

/// The theorem that reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum OdometerRule {
    /// Σε_i: Theorem 3.4 of the paper.
    Basic,
    /// Theorem 6.5 of the paper.
    Advanced,
    /// Lemma 6.4 of the paper.
    FreeX,
    /// A normal mixture over the martingale's rate.
    NormalMixture,
    /// Whitehouse's stitched odometer.
    Stitched,
    /// A mixture over Rényi orders: the default.
    #[default]
    RenyiMixture,
}

pub(super) const RECORDS: Number = Number {
    range: (Bound::Included(Amount::from_units(2 * Amount::ONE.units())), Bound::Unbounded),
    whole: true,
    ..parameter("n", "Records n", "The size of the dataset, for the advanced odometer", "1000000", "1000000")
};
pub(super) const GRANULARITY: Number = Number {
    range: (Bound::Excluded(Amount::ZERO), Bound::Included(Amount::from_units(Amount::ONE.units() / 4))),
    ..parameter(
        "granularity",
        "Granularity γ",
        "The smallest sum of squared epsilons that matters, for the advanced odometer",
        "1e-12",
        "1/n²",
    )
};
pub(super) const X: Number =
    parameter("x", "x", "x of the free-x odometer", "0.01", "chosen by Theorem 5.1 for the expected reading");
pub(super) const GAMMA: Number =
    parameter("gamma", "γ", "gamma of the normal-mixture odometer", "0.01", "the best one about the expected reading");
pub(super) const V0: Number =
    parameter("v0", "v₀", "v0 of the stitched odometer", "0.01", "a sixteenth of what the expected reading buys");
pub(super) const SCALE: Number = parameter(
    "scale",
    "Scale",
    "The smallest of the four orders, less 1, that have most of the weight of the renyi-mixture odometer",
    "20",
    "that of the budget",
);
pub(super) const SLACK: Number = parameter(
    "slack",
    "Slack c",
    "What the slack lemma adds to a reading if part of delta is set aside for the mechanisms",
    "0.01",
    "the best one about the expected reading",
);

answer_from_theorem!(OdometerRule, "the odometer rule");

impl OdometerRule {
    /// Every rule, the paper's own first and the default last.
    pub const ALL: [Self; 6] =
        [Self::Basic, Self::Advanced, Self::FreeX, Self::NormalMixture, Self::Stitched, Self::RenyiMixture];

    /// The rule that reads unless another is chosen: where there is no δ to read at, nothing but the sum of every ε can be read.
    pub fn default_at(at_delta: Amount) -> OdometerRule {
        if at_delta.is_zero() { OdometerRule::Basic } else { OdometerRule::default() }
    }

    fn theorem(self) -> Theorem {
        match self {
            OdometerRule::Basic => Theorem {
                name: "basic",
                citation: "Rogers, Roth, Ullman, Vadhan, arXiv:1605.08294 (revised), Theorem 3.4",
                short: "adds up every ε",
                long: "It adds up the ε of all charges. The reading is certain if no mechanism has a δ of its own, and large if there are \
                       many charges.",
                needs: &[PrivacyMeasure::Epsilon],
                needs_delta: false,
                parameters: &[SLACK],
            },
            OdometerRule::Advanced => Theorem {
                name: "advanced",
                citation: "Rogers, Roth, Ullman, Vadhan, arXiv:1605.08294 (revised), Theorem 6.5",
                short: "the first paper's odometer, as printed",
                long: "The first odometer that may be read at any moment. It needs no guess of how much will be spent, and reads \
                       higher than the newer ones.",
                needs: &[PrivacyMeasure::Epsilon],
                needs_delta: true,
                parameters: &[RECORDS, GRANULARITY],
            },
            OdometerRule::FreeX => Theorem {
                name: "free-x",
                citation: "Rogers, Roth, Ullman, Vadhan, arXiv:1605.08294 (revised), Lemma 6.4",
                short: "the first paper's; best near an expected amount of spending",
                long: "The first paper's odometer for an expected amount of spending: the reading is lowest near that amount, and valid \
                       everywhere.",
                needs: &[PrivacyMeasure::Epsilon],
                needs_delta: true,
                parameters: &[X],
            },
            OdometerRule::NormalMixture => Theorem {
                name: "normal-mixture",
                citation: "Howard et al., arXiv:1810.08240v7, Section 3.2; Whitehouse et al., arXiv:2203.05481v3",
                short: "averages over the rates at which losses accumulate; two-sided",
                long: "It averages over the rates at which losses may accumulate, and its reading is low over a wide range around the \
                       expected spending. It bounds the loss in both directions.",
                needs: &[PrivacyMeasure::Epsilon],
                needs_delta: true,
                parameters: &[GAMMA, SLACK],
            },
            OdometerRule::Stitched => Theorem {
                name: "stitched",
                citation: "Whitehouse, Ramdas, Rogers, Wu, arXiv:2203.05481v3, Theorem 4",
                short: "stitches bounds for small and large spending together",
                long: "It combines one bound for each scale of spending, so that its reading is low for small and for large spending.",
                needs: &[PrivacyMeasure::Epsilon],
                needs_delta: true,
                parameters: &[V0, SLACK],
            },
            OdometerRule::RenyiMixture => Theorem {
                name: "renyi-mixture",
                citation: "mixture of the supermartingales of Feldman, Zrnic, arXiv:2008.11193v3; docs/theory.md",
                short: "averages over Rényi orders; takes every kind of cost",
                long: "It averages over Rényi orders that are fixed in advance, most of them close to those that suit the budget; the \
                       order that suits the charges best has the most effect. It takes every kind of cost. If the sum of all ε is smaller, \
                       the reading is that sum.",
                needs: &[PrivacyMeasure::Renyi],
                needs_delta: true,
                parameters: &[SCALE, SLACK],
            },
        }
    }

    /// Whether mechanisms with their own δ_i go through the corrected Lemma 3.3: the paper's own odometers. The others go
    /// through the slack lemma.
    pub(crate) fn uses_lemma(self) -> bool {
        matches!(self, OdometerRule::Advanced | OdometerRule::FreeX)
    }

    /// Whether the reading bounds |loss|.
    pub(crate) fn is_two_sided(self, spec: &OdometerSpec) -> bool {
        match self {
            OdometerRule::Advanced | OdometerRule::FreeX | OdometerRule::NormalMixture => true,
            OdometerRule::Basic => spec.mechanism_delta.is_zero(),
            OdometerRule::Stitched | OdometerRule::RenyiMixture => false,
        }
    }
}
