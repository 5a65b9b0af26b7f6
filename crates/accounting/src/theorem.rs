//! What filter rules and odometer rules have in common.

use crate::cost::{Number, PrivacyMeasure};

/// A rule's entry in its table.
pub(crate) struct Theorem {
    pub(crate) name: &'static str,
    pub(crate) citation: &'static str,
    pub(crate) short: &'static str,
    pub(crate) long: &'static str,
    /// A cost needs one of these measures.
    pub(crate) needs: &'static [PrivacyMeasure],
    /// Whether a part of δ goes to the theorem itself.
    pub(crate) needs_delta: bool,
    pub(crate) parameters: &'static [Number],
}

/// The questions about a rule that its entry answers. The type has a list `ALL` and a method `theorem`.
macro_rules! answer_from_theorem {
    ($Rule:ident, $what:literal) => {
        impl $Rule {
            /// The name in commands and documents.
            pub fn name(self) -> &'static str {
                self.theorem().name
            }

            /// The rule of a name.
            pub fn from_name(name: &str) -> Result<$Rule, Error> {
                Error::find($what, $Rule::ALL, $Rule::name, name)
            }

            /// The paper, its version and the theorem.
            pub fn citation(self) -> &'static str {
                self.theorem().citation
            }

            /// What it does, in one line to choose by.
            pub fn short(self) -> &'static str {
                self.theorem().short
            }

            /// What it does, in a few sentences for people who have not read the papers.
            pub fn long(self) -> &'static str {
                self.theorem().long
            }

            /// The parameters of its own.
            pub fn parameters(self) -> &'static [Number] {
                self.theorem().parameters
            }

            /// Whether the rule has a theorem for a kind of cost.
            pub fn takes(self, kind: CostKind) -> bool {
                let needs = self.theorem().needs;
                kind.measures().iter().any(|measure| needs.contains(measure))
            }

            /// An error that names the rules that take the cost, if this one does not.
            pub fn require_takes(self, cost: &Cost) -> Result<(), Error> {
                match self.takes(cost.kind()) {
                    true => Ok(()),
                    false => Err(Error::new(ErrorKind::UnsupportedCost { rule: self.name(), cost: *cost })),
                }
            }

            /// Whether it needs a δ for itself, besides those of the mechanisms.
            pub fn needs_delta(self) -> bool {
                self.theorem().needs_delta
            }
        }
    };
}

pub(crate) use answer_from_theorem;
