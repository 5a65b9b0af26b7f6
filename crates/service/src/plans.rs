//! Plans of studies: what each question costs, which budget all of them need, in which order, and what they leave.

use std::cmp::Reverse;
use std::sync::Arc;

use taximeter_accounting::{Amount, Cost, Filter, FilterSpec};
use taximeter_gate::{Catalog, Prepared, Price, Request};
use taximeter_ledger::{
    Charge, Computed, Error, Key, RefusedInSequence, RepeatedCharge, SequenceQuote, SequencedAccount,
};

use crate::caller::{Action, Caller};
use crate::charges::hide_unseen;
use crate::questions::EXPLANATION;
use crate::{
    Code, PlannedAccount, PlannedQuestion, Problem, RefusedQuestion, Sight, StudyOrder, StudyPlan, StudyRequest,
};

/// The most costs that the questions of a study have together, each as often as it is asked.
const COSTS: usize = 10_000;

impl Caller {
    /// What the questions of a study cost, which budget all of them need, and whether they fit now. Charges nothing.
    pub async fn plan(&self, study: StudyRequest) -> Result<StudyPlan, Problem> {
        self.require(Action::SeeDatasets)?;
        self.require_dataset(&study.dataset)?;
        let requests = study.requests()?.into_iter().map(|request| self.gate_request(request, Key::generate()?));
        let requests: Vec<Request> = requests.collect::<Result<_, Problem>>()?;
        let slot = self.quote_slot()?;
        // One plan at a time, which may take seconds, so that the charges of others always find a place in the queue.
        let busy = |_| Problem::new(Code::Busy, "no plan can be made right now; try again in a moment");
        let only = Arc::clone(&self.service.plans).acquire_owned().await.map_err(busy)?;
        let asked = study.questions.iter().map(|question| u64::from(question.times.get())).sum::<u64>();
        let turn = self.turn(EXPLANATION * requests.len() as u64 + asked).await;
        self.refresh().await?;
        let plan = move |caller: &Caller| {
            // Held to the end of the work, as for a quote.
            let _held = (slot, only, turn);
            let quote = |charges: &[RepeatedCharge]| caller.ledger().quote_sequence(charges);
            planned(caller.gate().catalog(), &study, &requests, caller.sight(), &quote)
        };
        self.blocking(plan).await
    }
}

/// The plan of a study for an owner at the machine. `quote` asks the ledger.
pub fn plan(catalog: &Catalog, study: &StudyRequest, quote: QuoteSequence) -> Result<StudyPlan, Problem> {
    let requests = study.requests()?.into_iter().map(|request| Ok(request.for_gate(Key::generate()?, None, None)));
    planned(catalog, study, &requests.collect::<Result<Vec<_>, Problem>>()?, &Sight::All, quote)
}

/// The quote of a sequence of charges, by the ledger.
type QuoteSequence<'a> = &'a dyn Fn(&[RepeatedCharge]) -> Result<SequenceQuote, Error>;

fn planned(
    catalog: &Catalog,
    study: &StudyRequest,
    requests: &[Request],
    sight: &Sight,
    ledger: QuoteSequence,
) -> Result<StudyPlan, Problem> {
    catalog.dataset(&study.dataset)?;
    let quote = |charges: &[RepeatedCharge]| ledger(charges).map_err(|error| hide_unseen(error, sight));
    let mut priced = PricedStudy::default();
    for (at, request) in requests.iter().enumerate() {
        let added = price(catalog, study, at, request).and_then(|(question, charge)| {
            // An account without a theorem for its costs is a problem with this question.
            quote(&[RepeatedCharge { charge: charge.clone(), times: 1 }])?;
            priced.add(question, charge)
        });
        added.map_err(|problem| study.about(at, problem))?;
    }
    let listed = quote(&priced.charges)?;
    let payers = listed.accounts().len();
    let listed = listed.seen_by(|name| sight.sees(name));
    let (order, indices) = priced.best_order(listed.accounts());
    let charges = priced.in_order(&indices);
    let quote = quote(&charges)?.seen_by(|name| sight.sees(name));
    for (place, at) in (1..).zip(&indices) {
        priced.questions[*at].place = place;
    }
    let name = |at: usize| priced.questions[indices[at]].name.clone();
    let accounts: Vec<_> = quote.accounts().iter().map(|account| planned_account(account, &charges, &name)).collect();
    let largest_after = quote.largest_after(&Cost::Pure { epsilon: Amount::ONE });
    Ok(StudyPlan {
        dataset: study.dataset.clone(),
        added_up: priced.added_up(),
        order,
        others_pay: accounts.len() < payers,
        accounts,
        fits_now: quote.is_admitted(),
        largest_after: largest_after.map(|cost| cost.size()),
        questions: priced.questions,
    })
}

/// What a question costs, and its charge.
fn price(
    catalog: &Catalog,
    study: &StudyRequest,
    at: usize,
    request: &Request,
) -> Result<(PlannedQuestion, Charge), Problem> {
    let prepared = Prepared::new(catalog, request)?;
    let question = PlannedQuestion {
        name: study.name(at),
        times: study.questions[at].times.get(),
        cost: prepared.cost(),
        within: within(request.price, &prepared),
        place: 0,
    };
    Ok((question, prepared.charge().clone()))
}

/// The half width of the 95% intervals, where it is known before the answer: that of an average depends on the number of rows.
fn within(price: Price, prepared: &Prepared) -> Option<f64> {
    match (price, prepared.parts().as_slice()) {
        (Price::Error { width, .. }, _) => Some(width.to_f64()),
        (_, [part]) if prepared.averages().is_empty() => part.half_width.as_str().parse().ok(),
        _ => None,
    }
}

/// The questions of a study with their charges, as they are listed.
#[derive(Default)]
struct PricedStudy {
    questions: Vec<PlannedQuestion>,
    charges: Vec<RepeatedCharge>,
    /// How many costs there are.
    costs: usize,
}

impl PricedStudy {
    fn add(&mut self, question: PlannedQuestion, charge: Charge) -> Result<(), Problem> {
        let times = question.times;
        self.costs = self.costs.saturating_add(charge.costs().len().saturating_mul(times as usize));
        if self.costs > COSTS {
            return Err(Problem::bad_request(format!(
                "with this question the study has {} costs, repetitions included, and a plan takes at most {COSTS}; ask fewer times, or \
                 split the study",
                self.costs
            )));
        }
        self.questions.push(question);
        self.charges.push(RepeatedCharge { charge, times });
        Ok(())
    }

    /// Σε over all questions; nothing if one has no ε.
    fn added_up(&self) -> Option<Amount> {
        self.questions.iter().try_fold(Amount::ZERO, |sum, question| {
            sum.checked_add(question.cost.epsilon()?.checked_times(question.times.into())?)
        })
    }

    fn in_order(&self, indices: &[usize]) -> Vec<RepeatedCharge> {
        indices.iter().map(|at| self.charges[*at].clone()).collect()
    }

    /// The order for which the first account with a budget needs the smallest one.
    fn best_order(&self, accounts: &[SequencedAccount]) -> (StudyOrder, Vec<usize>) {
        let listed: Vec<usize> = (0..self.questions.len()).collect();
        let Some((payer, filter)) = accounts.iter().find_map(|account| Some((account, account.before.filter()?)))
        else {
            return (StudyOrder::Any, listed);
        };
        let size = |at: &usize| self.questions[*at].cost.size();
        let (mut small, mut large) = (listed.clone(), listed.clone());
        small.sort_by_key(size);
        large.sort_by_key(|at| Reverse(size(at)));
        let orders = [(StudyOrder::AsListed, listed), (StudyOrder::SmallFirst, small), (StudyOrder::LargeFirst, large)];
        let mut known: Vec<(Vec<Cost>, f64)> = Vec::new();
        let mut orders = orders.map(|(order, indices)| {
            let costs = payer.costs(&self.in_order(&indices));
            let needs = known.iter().find(|(other, _)| *other == costs).map(|(_, needs)| *needs);
            let needs = needs.unwrap_or_else(|| needs_of(filter.spec(), &costs).unwrap_or(f64::INFINITY));
            known.push((costs, needs));
            (needs, order, indices)
        });
        let differs = orders.iter().any(|(needs, ..)| (needs - orders[0].0).abs() > 1e-6 * orders[0].0);
        orders.sort_by(|one, other| one.0.total_cmp(&other.0));
        let [(_, order, indices), ..] = orders;
        (if differs { order } else { StudyOrder::Any }, indices)
    }
}

/// The smallest ε of a new budget that takes all costs; nothing if no ε does.
fn needs_of(spec: &FilterSpec, costs: &[Cost]) -> Option<f64> {
    Filter::smallest_epsilon_of(spec, costs).ok().flatten()
}

/// What charges need of an account, and what they leave. `name` names the question of a charge.
fn planned_account(
    account: &SequencedAccount,
    charges: &[RepeatedCharge],
    name: &dyn Fn(usize) -> String,
) -> PlannedAccount {
    let SequencedAccount { before, left, after } = account;
    let spec = before.filter().map(Filter::spec);
    let surprise = Amount::parse_exact(StudyPlan::SURPRISE).map(|epsilon| Cost::Pure { epsilon });
    // A rule may have no theorem for a pure ε beside other costs.
    let count = after.as_ref().ok().and_then(|after| after.as_ref()?.count(surprise.as_ref().ok()?).ok());
    let refused = |RefusedInSequence { at, taken, reason }: &RefusedInSequence| RefusedQuestion {
        name: name(*at),
        taken: *taken,
        reason: reason.text(),
    };
    PlannedAccount {
        account: before.name().clone(),
        rule: spec.map(|spec| spec.rule().name().to_string()),
        budget: spec.map(|spec| (&spec.budget).into()),
        needs: spec.and_then(|spec| needs_of(spec, &account.costs(charges))).map(Computed),
        left: before.left().map(Computed),
        left_after: left.last().copied().flatten().filter(|_| after.is_ok()).map(Computed),
        steps: left.iter().map(|left| left.map(Computed)).collect(),
        surprises: count.map(|count| count.count),
        at_least: count.is_some_and(|count| count.at_least),
        refused: after.as_ref().err().map(refused),
    }
}

#[cfg(test)]
mod tests {
    use taximeter_accounting::{Budget, FilterRule, OdometerRule, OdometerSpec};
    use taximeter_gate::{Data, Declaration, Gate, Registration, Rules};
    use taximeter_ledger::{AccountName, Ledger, Location, Options};

    use super::*;

    /// A gate with the dataset `people`, by the default rule.
    fn gate() -> (tempfile::TempDir, Gate) {
        let folder = tempfile::tempdir().unwrap();
        let location = Location::File(folder.path().join("taximeter.db"));
        let ledger = Ledger::open(&location, Options { create: true, ..Options::default() }).unwrap();
        let gate = Gate::open(&folder.path().join("gate"), ledger).unwrap();
        let csv = folder.path().join("people.csv");
        std::fs::write(&csv, "age\n31\n47\n").unwrap();
        let mut declaration = Declaration::parse("unit = \"row\"").unwrap();
        declaration.add_bounds("age=0..120").unwrap();
        let budget = Budget::parse("1,1e-6").unwrap();
        let rules = Rules {
            filter: Some(FilterSpec::new(FilterRule::Residue, budget)),
            odometer: OdometerSpec::new(OdometerRule::default_at(budget.delta()), budget.delta()),
        };
        let name = AccountName::parse("people").unwrap();
        let registration = Registration { rules: Some(rules), ..Registration::new(name, declaration, Data::csv(csv)) };
        gate.register(&registration, &mut |_, _| {}).unwrap();
        (folder, gate)
    }

    /// A plan of counts, each with its name, its ε and how many times it is asked.
    fn plan_of(gate: &Gate, questions: &[(&str, &str, u32)]) -> Result<StudyPlan, Problem> {
        let question = |(name, epsilon, times): &(&str, &str, u32)| {
            let sql = "SELECT COUNT(*) FROM people";
            format!("[[questions]]\nname = \"{name}\"\nsql = \"{sql}\"\nepsilon = {epsilon}\ntimes = {times}\n")
        };
        let questions = questions.iter().map(question).collect::<String>();
        let study = StudyRequest::parse(&format!("dataset = \"people\"\n{questions}"))?;
        let plan = plan(gate.catalog(), &study, &|charges| gate.ledger().quote_sequence(charges));
        assert_eq!(gate.ledger().account(&AccountName::parse("people").unwrap()).unwrap().charges(), 0);
        plan
    }

    #[test]
    fn the_best_order_does_not_depend_on_how_the_questions_are_listed() {
        let (_folder, gate) = gate();
        let (small, large) = (("small", "0.01", 200), ("large", "0.3", 1));
        let [one, other] = [[small, large], [large, small]].map(|listed| plan_of(&gate, &listed).unwrap());
        let first = |plan: &StudyPlan| plan.questions[plan.in_order()[0]].name.clone();
        assert_eq!(first(&one), first(&other));
        assert_eq!([one.order, other.order].iter().filter(|order| **order == StudyOrder::AsListed).count(), 1);
        let needs = |plan: &StudyPlan| plan.accounts[0].needs.unwrap().0;
        assert!((needs(&one) - needs(&other)).abs() < 1e-5 && one.added_up == other.added_up);
        // Where all cost the same, the order does not matter.
        let same = plan_of(&gate, &[("one", "0.1", 2), ("other", "0.1", 3)]).unwrap();
        assert_eq!((same.order, same.in_order()), (StudyOrder::Any, vec![0, 1]));
    }

    #[test]
    fn what_remains_is_what_the_account_would_have_left() {
        let (_folder, gate) = gate();
        let plan = plan_of(&gate, &[("first", "0.2", 1), ("then", "0.01", 100)]).unwrap();
        let (account, largest) = (&plan.accounts[0], plan.largest_after.unwrap());
        assert!(plan.fits_now && account.refused.is_none() && account.left == Some(Computed(1.0)));
        assert_eq!((account.steps.len(), account.steps[1]), (2, account.left_after));
        // The same costs, charged to a filter of its own.
        let pure = |epsilon: Amount| Cost::Pure { epsilon };
        let mut filter = Filter::new(FilterSpec::new(FilterRule::Residue, Budget::parse("1,1e-6").unwrap())).unwrap();
        for PlannedQuestion { cost, times, .. } in plan.in_order().into_iter().map(|at| &plan.questions[at]) {
            (0..*times).for_each(|_| assert!(filter.charge(cost).unwrap().continues()));
        }
        assert_eq!(account.left_after, Some(Computed(filter.left().share)));
        let count = filter.count(&pure(Amount::parse_exact(StudyPlan::SURPRISE).unwrap())).unwrap();
        assert_eq!((account.surprises, account.at_least), (Some(count.count), count.at_least));
        let more = Amount::from_units(largest.units() + 1);
        assert!(filter.admits_all(&[pure(largest)]) && !filter.admits_all(&[pure(more)]));
        let too_much = plan_of(&gate, &[("much", "0.4", 3)]).unwrap();
        let refused = too_much.accounts[0].refused.as_ref().unwrap();
        assert_eq!((refused.name.as_str(), refused.taken, too_much.largest_after), ("much", 2, None));
        assert!(too_much.accounts[0].steps.len() == 1 && too_much.accounts[0].steps[0].unwrap().0 < 0.5);
        assert_eq!((too_much.accounts[0].left_after, too_much.accounts[0].surprises), (None, None));
    }

    #[test]
    fn a_study_may_have_ten_thousand_costs() {
        let (_folder, gate) = gate();
        let plan = plan_of(&gate, &[("many", "0.001", 9_000), ("others", "0.0005", 1_000)]).unwrap();
        assert!(plan.fits_now, "{plan:?}");
        let problem = plan_of(&gate, &[("many", "0.001", 10_000), ("others", "0.0005", 1)]).unwrap_err();
        assert!(
            problem.question == Some(2) && problem.detail.contains("others: with this question the study has 10001"),
            "{problem}"
        );
    }
}
