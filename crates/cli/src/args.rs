//! Flags that several commands share.

use std::collections::{BTreeMap, HashSet};
use std::marker::PhantomData;

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};
use taximeter_accounting::{
    Amount, Budget, Cost, CostForm, CostKind, FilterParameters, FilterRule, FilterSpec, Number, OdometerParameters,
    OdometerRule, OdometerSpec, OnHalt, Rounding,
};
use taximeter_service::{DeclaredCost, FilterRequest, OdometerRequest, specs};

use crate::output::{Failure, in_flag, tell, usage};

/// A budget.
#[derive(Args)]
pub struct BudgetArgs {
    /// The budget: epsilon and delta, for instance 1,1e-6; without delta, delta is 0
    #[arg(long, value_name = "EPSILON,DELTA")]
    budget: String,
    #[command(flatten)]
    mechanism_delta: MechanismDelta,
}

impl BudgetArgs {
    pub fn budget(&self) -> Result<Budget, Failure> {
        budget(&self.budget, &self.mechanism_delta)
    }
}

/// The part of δ that is set aside for the mechanisms' own δ.
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

/// The value of --budget, with the part of δ that is set aside.
pub fn budget(text: &str, mechanism_delta: &MechanismDelta) -> Result<Budget, Failure> {
    let budget = Budget::parse(text).map_err(in_flag("--budget"))?;
    Ok(budget.with_mechanism_delta(mechanism_delta.amount()?)?)
}

/// A table that has a flag for each entry.
pub trait FlagTable {
    /// The flags, named as in the table.
    fn flags() -> Vec<Arg>;
}

/// The flags of a table that were given, each with its value.
pub struct TableArgs<T>(BTreeMap<String, String>, PhantomData<T>);

impl<T: FlagTable> Args for TableArgs<T> {
    fn augment_args(command: Command) -> Command {
        command.args(T::flags())
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<T: FlagTable> FromArgMatches for TableArgs<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let names = T::flags().into_iter().map(|flag| flag.get_id().to_string());
        let given = names.filter_map(|name| Some((name.clone(), matches.get_one::<String>(&name)?.clone())));
        Ok(TableArgs(given.collect(), PhantomData))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// One cost: a flag for every form in the table of kinds, and for every number of a form that has a default.
pub type CostArgs = TableArgs<CostForms>;

pub struct CostForms;

impl FlagTable for CostForms {
    fn flags() -> Vec<Arg> {
        let form = |(kind, form): (CostKind, &'static CostForm)| {
            let required: Vec<&Number> = form.required().collect();
            let (value, help) = match required.as_slice() {
                [number] if form.name != flag_name(kind.name()) => (number.name.to_uppercase(), form.title),
                [number] => (number.name.to_uppercase(), kind.sentence()),
                numbers => (example(numbers), kind.sentence()),
            };
            Arg::new(form.name).long(form.name).value_name(value).help(help)
        };
        let flags = forms().map(form).chain(optional_numbers().into_iter().map(number_flag));
        flags.map(|flag| flag.help_heading("The cost (one of)")).collect()
    }
}

/// The flag of a number of a table.
fn number_flag(number: &'static Number) -> Arg {
    Arg::new(number.name).long(number.name).value_name(number.name.to_uppercase()).help(number.help())
}

pub fn forms() -> impl Iterator<Item = (CostKind, &'static CostForm)> {
    CostKind::ALL.into_iter().flat_map(|kind| kind.forms().iter().map(move |form| (kind, form)))
}

/// The numbers of all forms that have a default, each once.
fn optional_numbers() -> Vec<&'static Number> {
    let numbers = forms().flat_map(|(_, form)| form.numbers.iter().copied());
    each_once(numbers.filter(|number| number.default.is_some()))
}

/// The first of all numbers with the same name.
fn each_once(numbers: impl Iterator<Item = &'static Number>) -> Vec<&'static Number> {
    let mut names = HashSet::new();
    numbers.filter(|number| names.insert(number.name)).collect()
}

/// A name of the tables as a flag.
fn flag_name(name: &str) -> String {
    name.replace('_', "-")
}

impl CostArgs {
    /// The cost; an error if none was given.
    pub fn cost(&self) -> Result<Cost, Failure> {
        self.given()?.ok_or_else(missing_cost)
    }

    /// The cost, if one was given.
    pub fn given(&self) -> Result<Option<Cost>, Failure> {
        let given: Vec<_> = forms().filter_map(|(_, form)| Some((form, self.0.get(form.name)?))).collect();
        let mut optional = optional_numbers().into_iter().filter(|number| self.0.contains_key(number.name));
        let (form, value) = match given.as_slice() {
            [only] => *only,
            [] => match optional.next() {
                None => return Ok(None),
                Some(number) => return Err(usage(format!("--{} needs a cost, such as --epsilon 0.01", number.name))),
            },
            [(first, _), (second, _), ..] => {
                return Err(usage(format!("--{} and --{} are two costs; give one", first.name, second.name)));
            }
        };
        if let Some(number) = optional.find(|optional| form.numbers.iter().all(|number| number.name != optional.name)) {
            return Err(usage(format!("--{} does not apply to --{}; omit it", number.name, form.name)));
        }
        let listed = (form.required().count() > 1).then(|| list(form, value)).transpose()?;
        let amounts = form.numbers.iter().map(|number| {
            let own = number.default.map(|default| self.0.get(number.name).map_or(default, String::as_str));
            match (&listed, own) {
                (_, Some(text)) => flag(&format!("--{}", number.name), text, number.rounding),
                (Some(listed), None) => {
                    flag(&format!("--{} {}", form.name, number.name), listed[number.name], number.rounding)
                }
                (None, None) => flag(&format!("--{}", form.name), value, number.rounding),
            }
        });
        // A number may have the same name as a parameter of a rule, so the advice about those must not be added.
        let amounts = amounts.collect::<Result<Vec<Amount>, Failure>>()?;
        form.cost(&amounts).map(Some).map_err(in_flag(&format!("--{}", form.name)))
    }
}

pub fn missing_cost() -> Failure {
    usage("a cost is missing; give for instance --epsilon 0.01")
}

/// How several numbers are written in one flag.
fn example(numbers: &[&Number]) -> String {
    numbers.iter().map(|number| format!("{}=…", number.name)).collect::<Vec<_>>().join(",")
}

/// The numbers of a form in a list such as rate=0.01,sigma=1.1,steps=1000.
fn list<'a>(form: &CostForm, text: &'a str) -> Result<BTreeMap<&'a str, &'a str>, Failure> {
    let numbers: Vec<&Number> = form.required().collect();
    let wrong = |why: String| usage(format!("--{}: {why}; write {}", form.name, example(&numbers)));
    let mut given = BTreeMap::new();
    for part in text.split(',') {
        let (name, value) = part.split_once('=').ok_or_else(|| wrong(format!("{part:?} has no '='")))?;
        let name = name.trim();
        if !numbers.iter().any(|number| number.name == name) {
            return Err(wrong(format!("{name:?} is not known")));
        }
        if given.insert(name, value.trim()).is_some() {
            return Err(wrong(format!("{name:?} appears twice")));
        }
    }
    match numbers.iter().find(|number| !given.contains_key(number.name)) {
        Some(missing) => Err(wrong(format!("{} is missing", missing.name))),
        None => Ok(given),
    }
}

/// The parameters of the rules: a flag for every parameter in the tables of rules.
pub type RuleArgs = TableArgs<RuleParameters>;

pub struct RuleParameters;

impl FlagTable for RuleParameters {
    fn flags() -> Vec<Arg> {
        let flag = |parameter| number_flag(parameter).help_heading("Parameters of the rules");
        rule_parameters().into_iter().map(flag).collect()
    }
}

/// The parameters of all rules, each once.
pub fn rule_parameters() -> Vec<&'static Number> {
    let filters = FilterRule::ALL.into_iter().flat_map(FilterRule::parameters);
    let odometers = OdometerRule::ALL.into_iter().flat_map(OdometerRule::parameters);
    each_once(filters.chain(odometers))
}

impl RuleArgs {
    /// A filter with these parameters, without those of other rules.
    pub fn filter(&self, rule: FilterRule, budget: Budget) -> Result<FilterSpec, Failure> {
        let parameters = FilterParameters::read(rule, self.of(rule.parameters()))?;
        Ok(FilterSpec { parameters, ..FilterSpec::new(rule, budget) })
    }

    /// An odometer like `base`, by a rule with these parameters, without those of other rules.
    pub fn odometer(&self, rule: OdometerRule, base: &OdometerSpec) -> Result<OdometerSpec, Failure> {
        let parameters = OdometerParameters::read(rule, self.of(rule.parameters()))?;
        Ok(OdometerSpec { parameters, ..base.clone() })
    }

    /// Whether a slack was given.
    pub fn has_slack(&self) -> bool {
        self.0.contains_key("slack")
    }

    /// The given values of these parameters, by name.
    fn of<T: FromIterator<(String, String)>>(&self, parameters: &[Number]) -> T {
        let given = parameters.iter().filter_map(|number| self.0.get_key_value(number.name));
        given.map(|(name, value)| (name.clone(), value.clone())).collect()
    }

    /// Refuses parameters of other rules than the chosen filter and odometer.
    pub fn refuse_foreign(&self, filter: Option<FilterRule>, odometer: Option<OdometerRule>) -> Result<(), Failure> {
        let filter = filter.map_or(&[][..], FilterRule::parameters);
        let odometer = odometer.map_or(&[][..], OdometerRule::parameters);
        let belongs = |name: &str| filter.iter().chain(odometer).any(|parameter| parameter.name == name);
        match self.0.keys().find(|name| !belongs(name)) {
            None => Ok(()),
            Some(name) => {
                Err(usage(format!("no chosen rule has the parameter --{name}; omit it or choose another rule")))
            }
        }
    }
}

/// A filter that decides and an odometer that reads.
#[derive(Args)]
pub struct FilterAndOdometerArgs {
    /// The filter that decides
    #[arg(long, value_name = "RULE", value_parser = filter_rules(),
          help = rule_help("The filter that decides", FilterRule::default().name()))]
    rule: Option<String>,
    /// The odometer that reads
    #[arg(long, value_name = "RULE", value_parser = odometer_rules(),
          help = rule_help("The odometer that reads", &odometer_default()))]
    odometer: Option<String>,
    /// The delta at which the reading holds [default: the budget's delta]
    #[arg(long, value_name = "DELTA")]
    at_delta: Option<String>,
    /// The cost to expect, as JSON: the order of the renyi filter is chosen for it
    #[arg(long = "for", value_name = "COST")]
    expected: Option<String>,
    /// The largest single cost: an epsilon, or a mu for costs without an epsilon
    #[arg(long, value_name = "AMOUNT")]
    max_cost: Option<String>,
    /// After a halt: accept smaller costs, or stop permanently as in the paper
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
    /// The filter, if there is a budget, and the odometer. `default` is the rule of the filter if none was chosen. Without a budget, the
    /// odometer sets `mechanism_delta` aside.
    pub fn specs(
        &self,
        budget: Option<Budget>,
        mechanism_delta: Amount,
        default: FilterRule,
    ) -> Result<(Option<FilterSpec>, OdometerSpec), Failure> {
        let at_delta = self.at_delta.as_ref().map(|text| flag("--at-delta", text, Rounding::Down)).transpose()?;
        let odometer = match &self.odometer {
            Some(name) => OdometerRule::from_name(name)?,
            None => OdometerRule::default_at(at_delta.unwrap_or(budget.map_or(Amount::UNIT, |budget| budget.delta()))),
        };
        let filter = budget.map(|budget| self.filter_request(budget, default)).transpose()?;
        self.rules.refuse_foreign(filter.as_ref().and_then(|filter| filter.rule), Some(odometer))?;
        if budget.is_none() && at_delta.is_none() && (odometer.needs_delta() || !mechanism_delta.is_zero()) {
            return Err(usage(
                "without a budget, give the delta of the odometer's reading, for instance --at-delta 1e-6",
            ));
        }
        let odometer = OdometerRequest {
            rule: Some(odometer),
            at_delta,
            // A budget has its own part set aside.
            mechanism_delta: if budget.is_some() { Amount::ZERO } else { mechanism_delta },
            parameters: self.rules.of(odometer.parameters()),
        };
        Ok(specs(filter.as_ref(), Some(&odometer), FilterRule::default())?)
    }

    fn filter_request(&self, budget: Budget, default: FilterRule) -> Result<FilterRequest, Failure> {
        let rule = self.rule.as_deref().map_or(Ok(default), FilterRule::from_name)?;
        let expected = |text: &str| Cost::from_json(text).map(|declared| DeclaredCost(declared.cost));
        Ok(FilterRequest {
            parameters: self.rules.of(rule.parameters()),
            expected: self.expected.as_deref().map(expected).transpose().map_err(in_flag("--for"))?,
            on_halt: if self.on_halt == "stop" { OnHalt::Stop } else { OnHalt::Refuse },
            max_cost: self.max_cost.as_deref().map(Amount::parse_exact).transpose().map_err(in_flag("--max-cost"))?,
            ..FilterRequest::new(Some(rule), (&budget).into())
        })
    }
}

/// The filter rules, each with a short description.
fn filter_rules() -> PossibleValuesParser {
    FilterRule::ALL.map(|rule| PossibleValue::new(rule.name()).help(rule.short())).into()
}

/// The odometer rules, each with a short description.
fn odometer_rules() -> PossibleValuesParser {
    OdometerRule::ALL.map(|rule| PossibleValue::new(rule.name()).help(rule.short())).into()
}

/// An amount from a flag. An error names the flag; a note reports a cost that is rounded up.
pub fn flag(name: &str, text: &str, rounding: Rounding) -> Result<Amount, Failure> {
    let parsed = Amount::parse(text, rounding).map_err(in_flag(name))?;
    if parsed.rounded && rounding == Rounding::Up {
        tell(&format!("note: {name} has more than {} decimal places and counts as {}", Amount::PLACES, parsed.amount));
    }
    Ok(parsed.amount)
}
