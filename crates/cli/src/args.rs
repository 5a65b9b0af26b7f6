//! Flags that several commands share.

use std::collections::{BTreeMap, HashSet};

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};
use taximeter_accounting::{
    Amount, Budget, Cost, CostForm, CostKind, Error, FilterParameters, FilterRule, FilterSpec, Given, Number,
    OdometerParameters, OdometerRule, OdometerSpec, OnHalt, Rounding,
};
use taximeter_service::{DeclaredCost, FilterRequest, OdometerRequest, specs};

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

/// One cost, by its kind: a flag for every form in the table of kinds.
pub struct CostArgs {
    /// The forms that were given, each with its value.
    forms: Vec<(CostKind, &'static CostForm, String)>,
    /// The numbers that have flags of their own because they can be left out.
    optional: BTreeMap<&'static str, String>,
}

const COST: &str = "The cost (one of)";

impl Args for CostArgs {
    fn augment_args(command: Command) -> Command {
        let command = forms().fold(command, |command, (kind, form)| {
            let names: Vec<String> = form.required().map(|number| number.name.to_uppercase()).collect();
            let (value, help) = match names.as_slice() {
                [name] => {
                    (name.clone(), if form.name == flag_name(kind.name()) { kind.sentence() } else { form.title })
                }
                _ => (
                    form.required().map(|number| format!("{}=…", number.name)).collect::<Vec<_>>().join(","),
                    kind.sentence(),
                ),
            };
            command.arg(Arg::new(form.name).long(form.name).value_name(value).help(help).help_heading(COST))
        });
        optional_numbers().into_iter().fold(command, |command, number| {
            let name = number.name.to_uppercase();
            command.arg(Arg::new(number.name).long(number.name).value_name(name).help(number.help()).help_heading(COST))
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        CostArgs::augment_args(command)
    }
}

impl FromArgMatches for CostArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<CostArgs, clap::Error> {
        let text = |name: &str| matches.get_one::<String>(name).cloned();
        let forms = forms().filter_map(|(kind, form)| Some((kind, form, text(form.name)?))).collect();
        let optional = optional_numbers().into_iter().filter_map(|number| Some((number.name, text(number.name)?)));
        Ok(CostArgs { forms, optional: optional.collect() })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = CostArgs::from_arg_matches(matches)?;
        Ok(())
    }
}

pub fn forms() -> impl Iterator<Item = (CostKind, &'static CostForm)> {
    CostKind::ALL.into_iter().flat_map(|kind| kind.forms().iter().map(move |form| (kind, form)))
}

/// The numbers of all forms that can be left out, each once.
fn optional_numbers() -> Vec<&'static Number> {
    let numbers = forms().flat_map(|(_, form)| form.numbers.iter().copied());
    each_once(numbers.filter(|number| number.default.is_some()))
}

/// The first of all that have the same name.
fn each_once(numbers: impl Iterator<Item = &'static Number>) -> Vec<&'static Number> {
    let mut names = HashSet::new();
    numbers.filter(|number| names.insert(number.name)).collect()
}

/// A name of the tables as a flag.
fn flag_name(name: &str) -> String {
    name.replace('_', "-")
}

impl CostArgs {
    /// The one cost that was given.
    pub fn cost(&self) -> Result<Cost, Failure> {
        let missing = || Failure::Usage("a cost is missing; give for instance --epsilon 0.01".to_string());
        self.given()?.ok_or_else(missing)
    }

    /// The cost, if one was given.
    pub fn given(&self) -> Result<Option<Cost>, Failure> {
        let (form, value) = match self.forms.as_slice() {
            [(_, form, value)] => (form, value),
            [] => match self.optional.keys().next() {
                None => return Ok(None),
                Some(name) => return Err(Failure::Usage(format!("--{name} goes with a cost; give one"))),
            },
            [(_, first, _), (_, second, _), ..] => {
                return Err(Failure::Usage(format!("--{} and --{} are two costs; give one", first.name, second.name)));
            }
        };
        if let Some(name) = self.optional.keys().find(|name| form.numbers.iter().all(|number| number.name != **name)) {
            return Err(Failure::Usage(format!("--{name} does not go with --{}; omit it", form.name)));
        }
        let listed = (form.required().count() > 1).then(|| list(form, value)).transpose()?;
        let amounts = form.numbers.iter().map(|number| {
            let own = self.optional.get(number.name).map(String::as_str).or(number.default);
            match (&listed, own) {
                (_, Some(text)) => flag(&format!("--{}", number.name), text, number.rounding),
                (Some(listed), None) => {
                    flag(&format!("--{} {}", form.name, number.name), listed[number.name], number.rounding)
                }
                (None, None) => flag(&format!("--{}", form.name), value, number.rounding),
            }
        });
        // Not the advice for parameters of rules: one of them may have the name of a number here.
        let wrong = |error: Error| Failure::Usage(format!("--{}: {error}", form.name));
        Ok(Some(form.cost(&amounts.collect::<Result<Vec<Amount>, Failure>>()?).map_err(wrong)?))
    }
}

/// The numbers of a form in a list such as rate=0.01,sigma=1.1,steps=1000.
fn list<'a>(form: &CostForm, text: &'a str) -> Result<BTreeMap<&'a str, &'a str>, Failure> {
    let names: Vec<_> = form.required().map(|number| number.name).collect();
    let usage = |why: String| {
        let example = names.iter().map(|name| format!("{name}=…")).collect::<Vec<_>>().join(",");
        Failure::Usage(format!("--{}: {why}; write {example}", form.name))
    };
    let mut given = BTreeMap::new();
    for part in text.split(',') {
        let (name, value) = part.split_once('=').ok_or_else(|| usage(format!("{part:?} has no '='")))?;
        if !names.contains(&name.trim()) {
            return Err(usage(format!("{:?} is not known", name.trim())));
        }
        if given.insert(name.trim(), value.trim()).is_some() {
            return Err(usage(format!("{:?} appears twice", name.trim())));
        }
    }
    match names.iter().find(|name| !given.contains_key(**name)) {
        Some(missing) => Err(usage(format!("{missing} is missing"))),
        None => Ok(given),
    }
}

/// The parameters of the rules: a flag for every one in their tables.
pub struct RuleArgs {
    given: Given,
}

/// The parameters of all rules, each once.
pub fn rule_parameters() -> Vec<&'static Number> {
    let filters = FilterRule::ALL.into_iter().flat_map(FilterRule::parameters);
    let odometers = OdometerRule::ALL.into_iter().flat_map(OdometerRule::parameters);
    each_once(filters.chain(odometers))
}

impl Args for RuleArgs {
    fn augment_args(command: Command) -> Command {
        rule_parameters().into_iter().fold(command, |command, parameter| {
            let arg = Arg::new(parameter.name).long(parameter.name).value_name(parameter.name.to_uppercase());
            command.arg(arg.help(parameter.help()).help_heading("Parameters of the rules"))
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        RuleArgs::augment_args(command)
    }
}

impl FromArgMatches for RuleArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<RuleArgs, clap::Error> {
        let text = |name: &str| matches.get_one::<String>(name).cloned();
        let given = rule_parameters().into_iter().filter_map(|parameter| Some((parameter.name, text(parameter.name)?)));
        Ok(RuleArgs { given: given.collect() })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = RuleArgs::from_arg_matches(matches)?;
        Ok(())
    }
}

impl RuleArgs {
    /// A filter with these parameters; those of other rules are left alone.
    pub fn filter(&self, rule: FilterRule, budget: Budget) -> Result<FilterSpec, Failure> {
        let parameters = FilterParameters::read(rule, self.given.only(rule.parameters()))?;
        Ok(FilterSpec { parameters, ..FilterSpec::new(rule, budget) })
    }

    /// An odometer with these parameters; those of other rules are left alone.
    pub fn odometer(&self, rule: OdometerRule, level: Level) -> Result<OdometerSpec, Failure> {
        let Level { at_delta, mechanism_delta, expected } = level;
        let parameters = OdometerParameters::read(rule, self.given.only(rule.parameters()))?;
        Ok(OdometerSpec { parameters, at_delta, mechanism_delta, expected })
    }

    /// Whether a slack was given.
    pub fn has_slack(&self) -> bool {
        self.given.has("slack")
    }

    /// Those of these parameters that a rule has, by name.
    fn named(&self, parameters: &[Number]) -> BTreeMap<String, String> {
        self.given.only(parameters).into_iter().collect()
    }

    /// A parameter that neither the filter nor the odometer at hand has is a mistake.
    pub fn refuse_foreign(&self, filter: Option<FilterRule>, odometer: Option<OdometerRule>) -> Result<(), Failure> {
        let filter = filter.map_or(&[][..], FilterRule::parameters);
        let odometer = odometer.map_or(&[][..], OdometerRule::parameters);
        let belongs = |name: &str| filter.iter().chain(odometer).any(|parameter| parameter.name == name);
        match self.given.names().find(|name| !belongs(name)) {
            None => Ok(()),
            Some(name) => Err(Failure::Usage(format!(
                "nothing that was chosen has the parameter --{name}; omit it or choose another rule"
            ))),
        }
    }
}

/// A filter that decides and an odometer that reads.
#[derive(Args)]
pub struct FilterAndOdometerArgs {
    /// The filter that decides
    #[arg(long, value_name = "RULE", value_parser = filter_rules(), help = rule_help("The filter that decides", FilterRule::default().name()))]
    rule: Option<String>,
    /// The odometer that reads
    #[arg(long, value_name = "RULE", value_parser = odometer_rules(), help = rule_help("The odometer that reads", &odometer_default()))]
    odometer: Option<String>,
    /// The delta at which the reading holds [default: the budget's delta]
    #[arg(long, value_name = "DELTA")]
    at_delta: Option<String>,
    /// A cost that is expected, as JSON: the order of the renyi filter is chosen for it
    #[arg(long = "for", value_name = "COST")]
    expected: Option<String>,
    /// The largest single cost: an epsilon, or a mu for what has no epsilon
    #[arg(long, value_name = "AMOUNT")]
    max_cost: Option<String>,
    /// After a halt: go on with smaller costs, or stop for good as in the paper
    #[arg(long, value_name = "WHAT", default_value = "refuse", value_parser = ["refuse", "stop"])]
    on_halt: String,
    #[command(flatten)]
    rules: RuleArgs,
}

fn rule_help(what: &str, default: &str) -> String {
    format!("{what} [default: {default}]")
}

fn odometer_default() -> String {
    format!("{}; {} where delta is 0", OdometerRule::default().name(), OdometerRule::default_at(Amount::ZERO).name())
}

impl FilterAndOdometerArgs {
    /// Both, for a budget. `default` decides unless another rule was chosen.
    pub fn with_budget(&self, budget: Budget, default: FilterRule) -> Result<(FilterSpec, OdometerSpec), Failure> {
        let rule = self.rule.as_deref().map_or(Ok(default), FilterRule::from_name)?;
        let at_delta = self.at_delta()?;
        let odometer = self.odometer_rule(at_delta.unwrap_or(budget.delta()))?;
        self.rules.refuse_foreign(Some(rule), Some(odometer))?;
        let filter = FilterRequest {
            parameters: self.rules.named(rule.parameters()),
            expected: self
                .expected
                .as_deref()
                .map(|text| Cost::from_json(text).map(|read| DeclaredCost(read.cost)))
                .transpose()
                .map_err(|error| Failure::Usage(format!("--for: {error}")))?,
            on_halt: if self.on_halt == "stop" { OnHalt::Stop } else { OnHalt::Refuse },
            max_cost: optional("--max-cost", &self.max_cost)?,
            ..FilterRequest::new(Some(rule), (&budget).into())
        };
        match self.specs(Some(filter), odometer, at_delta, Amount::ZERO)? {
            (Some(filter), odometer) => Ok((filter, odometer)),
            (None, _) => unreachable!("a budget has a filter"),
        }
    }

    /// The odometer alone, without a budget.
    pub fn without_budget(&self, mechanism_delta: Amount) -> Result<OdometerSpec, Failure> {
        let at_delta = self.at_delta()?;
        let rule = self.odometer_rule(at_delta.unwrap_or(Amount::UNIT))?;
        self.rules.refuse_foreign(None, Some(rule))?;
        if at_delta.is_none() && (rule.needs_delta() || !mechanism_delta.is_zero()) {
            let advice = "without a budget the odometer needs a delta to read at; give for instance --at-delta 1e-6";
            return Err(Failure::Usage(advice.to_string()));
        }
        Ok(self.specs(None, rule, at_delta, mechanism_delta)?.1)
    }

    fn specs(
        &self,
        filter: Option<FilterRequest>,
        rule: OdometerRule,
        at_delta: Option<Amount>,
        mechanism_delta: Amount,
    ) -> Result<(Option<FilterSpec>, OdometerSpec), Failure> {
        let parameters = self.rules.named(rule.parameters());
        let odometer = OdometerRequest { rule: Some(rule), at_delta, mechanism_delta, parameters };
        Ok(specs(filter.as_ref(), Some(&odometer), FilterRule::default())?)
    }

    fn odometer_rule(&self, at_delta: Amount) -> Result<OdometerRule, Failure> {
        let default = || Ok(OdometerRule::default_at(at_delta));
        Ok(self.odometer.as_deref().map_or_else(default, OdometerRule::from_name)?)
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

/// The filter rules, with what to choose them by.
fn filter_rules() -> PossibleValuesParser {
    FilterRule::ALL.map(|rule| PossibleValue::new(rule.name()).help(rule.short())).into()
}

/// The odometer rules, with what to choose them by.
fn odometer_rules() -> PossibleValuesParser {
    OdometerRule::ALL.map(|rule| PossibleValue::new(rule.name()).help(rule.short())).into()
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
