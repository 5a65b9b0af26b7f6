//! Flags that several commands share.

use clap::Args;
use clap::builder::PossibleValuesParser;
use taximeter_accounting::{
    Amount, Budget, Cost, CostKind, Error, FilterRule, FilterSpec, Granularity, OdometerParameters, OdometerRule,
    OdometerSpec, OnHalt, Rounding,
};

use crate::output::{Failure, tell};

/// A budget.
#[derive(Args)]
pub struct BudgetArgs {
    /// The budget: epsilon and delta, for instance 1,1e-6 (delta 0 if left out)
    #[arg(long, value_name = "EPSILON,DELTA")]
    pub budget: String,
    #[command(flatten)]
    pub mechanism_delta: MechanismDelta,
}

/// What is set aside for the mechanisms' own δ.
#[derive(Args)]
pub struct MechanismDelta {
    /// The part of delta set aside for the mechanisms' own delta
    #[arg(long, value_name = "DELTA", default_value = "0")]
    mechanism_delta: String,
}

impl MechanismDelta {
    pub fn amount(&self) -> Result<Amount, Failure> {
        flag("--mechanism-delta", &self.mechanism_delta, Rounding::Down)
    }
}

impl BudgetArgs {
    pub fn budget(&self) -> Result<Budget, Failure> {
        let budget = Budget::parse(&self.budget).map_err(|error| Failure::Usage(format!("--budget: {error}")))?;
        Ok(budget.with_mechanism_delta(self.mechanism_delta.amount()?)?)
    }
}

/// One cost, by its kind.
#[derive(Args)]
#[command(next_help_heading = "The cost (one of)")]
pub struct CostArgs {
    /// epsilon-DP
    #[arg(long, value_name = "EPSILON")]
    epsilon: Option<String>,
    /// The mechanism's own delta, with --epsilon
    #[arg(long, value_name = "DELTA", requires = "epsilon")]
    delta: Option<String>,
    /// Continuous Gaussian noise, proven mu-GDP: mu = sensitivity/sigma
    #[arg(long, value_name = "MU")]
    gaussian: Option<String>,
    /// Continuous Gaussian noise by its standard deviation
    #[arg(long, value_name = "SIGMA")]
    gaussian_sigma: Option<String>,
    /// Discrete Gaussian noise: zCDP and Rényi rules only
    #[arg(long, value_name = "MU")]
    discrete_gaussian: Option<String>,
    /// Discrete Gaussian noise by its standard deviation
    #[arg(long, value_name = "SIGMA")]
    discrete_gaussian_sigma: Option<String>,
    /// rho-zCDP
    #[arg(long, value_name = "RHO")]
    zcdp: Option<String>,
    /// Laplace noise: epsilon = sensitivity/scale
    #[arg(long, value_name = "EPSILON")]
    laplace: Option<String>,
    /// Laplace noise by its scale
    #[arg(long, value_name = "SCALE")]
    laplace_scale: Option<String>,
    /// Randomized response of epsilon
    #[arg(long, value_name = "EPSILON")]
    randomized_response: Option<String>,
    /// Binary randomized response by the probability of the truth
    #[arg(long, value_name = "PROBABILITY")]
    randomized_response_truth: Option<String>,
    /// The exponential mechanism with weights exp(eta * utility / (2 * sensitivity))
    #[arg(long, value_name = "ETA")]
    exponential: Option<String>,
    /// The sensitivity that goes with a standard deviation or a scale
    #[arg(long, value_name = "SENSITIVITY", default_value = "1")]
    sensitivity: String,
}

impl CostArgs {
    /// The one cost that was given.
    pub fn cost(&self) -> Result<Cost, Failure> {
        let missing = || Failure::Usage("a cost is missing; give for instance --epsilon 0.01".to_string());
        self.given()?.ok_or_else(missing)
    }

    /// The cost, if one was given.
    pub fn given(&self) -> Result<Option<Cost>, Failure> {
        type Read = fn(&CostArgs, &str) -> Result<Cost, Failure>;
        let forms: [(&str, &Option<String>, Read); 11] = [
            ("--epsilon", &self.epsilon, |args, text| args.with_delta(text)),
            ("--gaussian", &self.gaussian, |_, text| parameter("--gaussian", CostKind::Gaussian, text)),
            ("--gaussian-sigma", &self.gaussian_sigma, |args, text| {
                args.noise("--gaussian-sigma", CostKind::Gaussian, text)
            }),
            ("--discrete-gaussian", &self.discrete_gaussian, |_, text| {
                parameter("--discrete-gaussian", CostKind::DiscreteGaussian, text)
            }),
            ("--discrete-gaussian-sigma", &self.discrete_gaussian_sigma, |args, text| {
                args.noise("--discrete-gaussian-sigma", CostKind::DiscreteGaussian, text)
            }),
            ("--zcdp", &self.zcdp, |_, text| parameter("--zcdp", CostKind::Zcdp, text)),
            ("--laplace", &self.laplace, |_, text| parameter("--laplace", CostKind::Laplace, text)),
            ("--laplace-scale", &self.laplace_scale, |args, text| {
                args.noise("--laplace-scale", CostKind::Laplace, text)
            }),
            ("--randomized-response", &self.randomized_response, |_, text| {
                parameter("--randomized-response", CostKind::RandomizedResponse, text)
            }),
            ("--randomized-response-truth", &self.randomized_response_truth, |_, text| {
                Ok(Cost::from_truth_probability(flag("--randomized-response-truth", text, Rounding::Up)?)?)
            }),
            ("--exponential", &self.exponential, |_, text| parameter("--exponential", CostKind::Exponential, text)),
        ];
        let given: Vec<_> =
            forms.iter().filter_map(|(name, text, read)| text.as_ref().map(|text| (name, text, read))).collect();
        match given.as_slice() {
            [(_, text, read)] => read(self, text).map(Some),
            [] => Ok(None),
            [(first, ..), (second, ..), ..] => {
                Err(Failure::Usage(format!("{first} and {second} are two costs; give one")))
            }
        }
    }

    fn with_delta(&self, text: &str) -> Result<Cost, Failure> {
        let epsilon = flag("--epsilon", text, Rounding::Up)?;
        let delta = self.delta.as_ref().map_or(Ok(Amount::ZERO), |text| flag("--delta", text, Rounding::Up))?;
        Ok(Cost::approximate(epsilon, delta)?)
    }

    fn noise(&self, name: &str, kind: CostKind, text: &str) -> Result<Cost, Failure> {
        let scale = flag(name, text, Rounding::Down)?;
        Ok(Cost::from_noise(kind, scale, flag("--sensitivity", &self.sensitivity, Rounding::Up)?)?)
    }
}

fn parameter(name: &str, kind: CostKind, text: &str) -> Result<Cost, Failure> {
    Ok(kind.of_size(flag(name, text, Rounding::Up)?))
}

/// The parameters of the rules. The reading that is expected is the budget's ε, or what the costs at hand add up to.
#[derive(Args)]
#[command(next_help_heading = "Parameters of the rules")]
pub struct RuleArgs {
    /// The order of the renyi filter [default: the best one for the budget]
    #[arg(long, value_name = "ALPHA")]
    order: Option<String>,
    /// The size of the dataset, for the advanced odometer [default: 1000000]
    #[arg(long, value_name = "RECORDS", conflicts_with = "granularity")]
    n: Option<u64>,
    /// The smallest sum of squared epsilons that matters, in place of 1/n², for the advanced odometer
    #[arg(long, value_name = "GAMMA")]
    granularity: Option<String>,
    /// x of the free-x odometer [default: by Theorem 5.1 for the expected reading]
    #[arg(long, value_name = "X")]
    x: Option<String>,
    /// gamma of the normal-mixture odometer [default: the best one about the expected reading]
    #[arg(long, value_name = "GAMMA")]
    gamma: Option<String>,
    /// v0 of the stitched odometer [default: a sixteenth of what the expected reading buys]
    #[arg(long, value_name = "V0")]
    v0: Option<String>,
    /// What the slack lemma adds to a reading when something is set aside for the mechanisms [default: the best one about the expected reading]
    #[arg(long, value_name = "C")]
    slack: Option<String>,
}

impl RuleArgs {
    /// A filter with these parameters; those of other rules are left alone.
    pub fn filter(&self, rule: FilterRule, budget: Budget) -> Result<FilterSpec, Failure> {
        let order = if rule == FilterRule::Renyi { optional("--order", &self.order)? } else { None };
        Ok(FilterSpec { order, ..FilterSpec::new(rule, budget) })
    }

    /// An odometer with these parameters; those of other rules are left alone.
    pub fn odometer(&self, rule: OdometerRule, level: Level) -> Result<OdometerSpec, Failure> {
        let Level { at_delta, mechanism_delta, expected } = level;
        let slack = optional("--slack", &self.slack)?;
        let parameters = match rule {
            OdometerRule::Basic => OdometerParameters::Basic { slack },
            OdometerRule::Advanced => {
                let gamma = optional("--granularity", &self.granularity)?.map(Granularity::Gamma);
                OdometerParameters::Advanced { granularity: self.n.map(Granularity::Records).or(gamma) }
            }
            OdometerRule::FreeX => OdometerParameters::FreeX { x: optional("--x", &self.x)? },
            OdometerRule::NormalMixture => {
                OdometerParameters::NormalMixture { gamma: optional("--gamma", &self.gamma)?, slack }
            }
            OdometerRule::Stitched => OdometerParameters::Stitched { v0: optional("--v0", &self.v0)?, slack },
            OdometerRule::RenyiMixture => OdometerParameters::RenyiMixture { slack },
        };
        Ok(OdometerSpec { parameters, at_delta, mechanism_delta, expected })
    }

    /// Whether a slack was given.
    pub fn has_slack(&self) -> bool {
        self.slack.is_some()
    }

    /// A parameter that neither the filter nor the odometer at hand has is a mistake.
    pub fn refuse_foreign(&self, filter: Option<FilterRule>, odometer: Option<OdometerRule>) -> Result<(), Failure> {
        let reads = |rule: OdometerRule| odometer == Some(rule);
        let takes_slack = odometer.is_some() && !reads(OdometerRule::Advanced) && !reads(OdometerRule::FreeX);
        for (name, given, belongs) in [
            ("--order", self.order.is_some(), filter == Some(FilterRule::Renyi)),
            ("--n", self.n.is_some(), reads(OdometerRule::Advanced)),
            ("--granularity", self.granularity.is_some(), reads(OdometerRule::Advanced)),
            ("--x", self.x.is_some(), reads(OdometerRule::FreeX)),
            ("--gamma", self.gamma.is_some(), reads(OdometerRule::NormalMixture)),
            ("--v0", self.v0.is_some(), reads(OdometerRule::Stitched)),
            ("--slack", self.slack.is_some(), takes_slack),
        ] {
            if given && !belongs {
                return Err(Failure::Usage(format!(
                    "nothing that was chosen has the parameter {name}; leave it out or choose another rule"
                )));
            }
        }
        Ok(())
    }
}

/// A filter that decides and an odometer that reads.
#[derive(Args)]
pub struct FilterAndOdometerArgs {
    /// The filter that decides [default: residue]
    #[arg(long, value_name = "RULE", value_parser = filter_rules())]
    rule: Option<String>,
    /// The odometer that reads
    #[arg(long, value_name = "RULE", default_value = "renyi-mixture", value_parser = odometer_rules())]
    odometer: String,
    /// The delta at which the reading holds [default: the budget's delta]
    #[arg(long, value_name = "DELTA")]
    at_delta: Option<String>,
    /// The largest single cost: an epsilon, or a mu for what has no epsilon
    #[arg(long, value_name = "AMOUNT")]
    max_cost: Option<String>,
    /// After a halt: go on with smaller costs, or stop for good as in the paper
    #[arg(long, value_name = "WHAT", default_value = "refuse", value_parser = ["refuse", "stop"])]
    on_halt: String,
    #[command(flatten)]
    rules: RuleArgs,
}

impl FilterAndOdometerArgs {
    /// Both, for a budget. `default` decides unless another rule was chosen.
    pub fn with_budget(&self, budget: Budget, default: FilterRule) -> Result<(FilterSpec, OdometerSpec), Failure> {
        let rule = self.rule.as_deref().map_or(Ok(default), FilterRule::from_name)?;
        if budget.delta().is_zero()
            && (rule != FilterRule::Basic || (self.odometer != "basic" && self.at_delta.is_none()))
        {
            return Err(Failure::Usage(
                "a budget without a delta goes with basic composition alone: give a delta, for instance --budget 1,1e-6, or use \
                 --rule basic --odometer basic"
                    .to_string(),
            ));
        }
        let odometer = OdometerRule::from_name(&self.odometer)?;
        self.rules.refuse_foreign(Some(rule), Some(odometer))?;
        let filter = FilterSpec {
            on_halt: if self.on_halt == "stop" { OnHalt::Stop } else { OnHalt::Refuse },
            max_cost: optional("--max-cost", &self.max_cost)?,
            ..self.rules.filter(rule, budget)?
        };
        let at_delta = self.at_delta()?.unwrap_or(budget.delta());
        let level = Level { at_delta, mechanism_delta: budget.mechanism_delta(), expected: budget.epsilon() };
        Ok((filter, self.rules.odometer(odometer, level)?))
    }

    /// The odometer alone, without a budget.
    pub fn without_budget(&self, mechanism_delta: Amount) -> Result<OdometerSpec, Failure> {
        let rule = OdometerRule::from_name(&self.odometer)?;
        self.rules.refuse_foreign(None, Some(rule))?;
        let at_delta = match (self.at_delta()?, rule) {
            (Some(at_delta), _) => at_delta,
            (None, OdometerRule::Basic) if mechanism_delta.is_zero() => Amount::ZERO,
            (None, _) => {
                return Err(Failure::Usage(
                    "without a budget the odometer needs a delta to read at; give for instance --at-delta 1e-6"
                        .to_string(),
                ));
            }
        };
        self.rules.odometer(rule, Level { at_delta, mechanism_delta, expected: Amount::ONE })
    }

    fn at_delta(&self) -> Result<Option<Amount>, Failure> {
        self.at_delta.as_ref().map(|text| flag("--at-delta", text, Rounding::Down)).transpose()
    }
}

/// The δ at which an odometer reads, and the reading that its defaults are chosen for.
#[derive(Clone, Copy)]
pub struct Level {
    pub at_delta: Amount,
    pub mechanism_delta: Amount,
    pub expected: Amount,
}

/// The parameters of an odometer that are fixed, as flags with their values.
pub fn shown_parameters(spec: &OdometerSpec) -> Vec<(&'static str, String)> {
    let amount = |name: &'static str, value: Option<Amount>| value.map(|value| (name, value.to_string()));
    let granularity = |granularity: Granularity| match granularity {
        Granularity::Records(n) => ("--n", n.to_string()),
        Granularity::Gamma(gamma) => ("--granularity", gamma.to_string()),
    };
    let (own, slack) = match spec.parameters {
        OdometerParameters::Basic { slack } | OdometerParameters::RenyiMixture { slack } => (None, slack),
        OdometerParameters::Advanced { granularity: given } => (given.map(granularity), None),
        OdometerParameters::FreeX { x } => (amount("--x", x), None),
        OdometerParameters::NormalMixture { gamma, slack } => (amount("--gamma", gamma), slack),
        OdometerParameters::Stitched { v0, slack } => (amount("--v0", v0), slack),
    };
    own.into_iter().chain(amount("--slack", slack)).collect()
}

/// The names of the filter rules.
pub fn filter_rules() -> PossibleValuesParser {
    PossibleValuesParser::new(FilterRule::ALL.map(FilterRule::name))
}

/// The names of the odometer rules.
pub fn odometer_rules() -> PossibleValuesParser {
    PossibleValuesParser::new(OdometerRule::ALL.map(OdometerRule::name))
}

/// An amount from a flag, with the flag's name in the error. A cost that had to be rounded up is told.
pub fn flag(name: &str, text: &str, rounding: Rounding) -> Result<Amount, Failure> {
    let parsed = Amount::parse(text, rounding).map_err(|error: Error| Failure::Usage(format!("{name}: {error}")))?;
    if parsed.rounded && rounding == Rounding::Up {
        tell(&format!("note: {name} has more than {} decimal places and counts as {}", Amount::PLACES, parsed.amount));
    }
    Ok(parsed.amount)
}

/// An optional parameter, which must not need rounding.
pub fn optional(name: &str, text: &Option<String>) -> Result<Option<Amount>, Failure> {
    let parse = |text: &String| Amount::parse_exact(text).map_err(|error| Failure::Usage(format!("{name}: {error}")));
    text.as_ref().map(parse).transpose()
}
