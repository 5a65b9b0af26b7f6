//! The model test: random commands, against a reference that is a page long.
//!
//! The reference keeps plain lists and asks [`Filter`] and [`Odometer`] directly. After every command the ledger must have given the
//! answer that the reference expects, and every account must stand where the reference has it. `PROPTEST_CASES` says how many
//! sequences of commands are tried.

use std::collections::BTreeMap;
use std::marker::PhantomData;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use proptest_state_machine::{ReferenceStateMachine, StateMachineTest};
use taximeter_accounting::{Amount, Cost, CostKind, Filter, FilterRule, Odometer, OdometerRule, OdometerSpec, Verdict};
use taximeter_ledger::{
    AccountName, AccountSpec, Charge, Error, ErrorKind, Ledger, Neighbours, Outcome, Position, Privacy, Quote,
    Standing, Unit,
};
use taximeter_testing::random_inputs;

use super::place::*;

/// A store as a type.
pub trait Store: 'static {
    /// How many sequences of commands are tried if nothing else is said.
    const CASES: u32;

    fn place() -> Place;
}

pub struct Sqlite;

impl Store for Sqlite {
    const CASES: u32 = 256;

    fn place() -> Place {
        Place::sqlite()
    }
}

#[cfg(feature = "server-tests")]
pub struct Postgres;

#[cfg(feature = "server-tests")]
impl Store for Postgres {
    const CASES: u32 = 48;

    fn place() -> Place {
        Place::postgres()
    }
}

pub fn agrees_with_the_model<S: Store>() {
    let cases =
        std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(random_inputs(S::CASES));
    let config = Config { cases, max_shrink_iters: 2000, failure_persistence: None, ..Config::default() };
    let commands = Reference::sequential_strategy(10..60);
    let result = TestRunner::new(config.clone()).run(&commands, |(start, commands, seen)| {
        System::<S>::test_sequential(config.clone(), start, commands, seen);
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
}

#[derive(Clone, Debug)]
enum Command {
    Open(Box<AccountSpec>),
    Charge(Charge),
    Close(AccountName),
    Reopen,
    Verify,
    /// The ledger goes on where its export was imported.
    Move,
}

/// What a command must give.
#[derive(Clone, Debug, PartialEq)]
enum Expected {
    Done,
    /// A record, and the accounts that it is about.
    Recorded(Vec<String>),
    /// The receipt of this record.
    Replayed(u64),
    /// The accounts that refuse, from the root down.
    Refused(Vec<String>),
    NoAccount,
    KeyTaken,
    /// An error about the input; if it is about an account's rule, one of these.
    Input(Vec<String>),
}

#[derive(Clone, Debug)]
struct Reference {
    accounts: Vec<ReferenceAccount>,
    /// The request of every key, and its record.
    keys: BTreeMap<String, (Charge, u64)>,
    /// The number of the newest record.
    newest: u64,
    /// What the last command must have given.
    expected: Expected,
}

#[derive(Clone, Debug)]
struct ReferenceAccount {
    name: String,
    privacy: Privacy,
    filter: Option<Filter>,
    odometer: Odometer,
    standing: Standing,
    charges: u64,
    /// The records about it.
    history: Vec<u64>,
}

impl Reference {
    fn find(&self, name: &str) -> Option<usize> {
        self.accounts.iter().position(|account| account.name == name)
    }

    /// Counts a record about these accounts.
    fn record(&mut self, about: &[usize]) -> Expected {
        self.newest += 1;
        about.iter().for_each(|at| self.accounts[*at].history.push(self.newest));
        Expected::Recorded(self.names(about))
    }

    fn names(&self, about: &[usize]) -> Vec<String> {
        about.iter().map(|at| self.accounts[*at].name.clone()).collect()
    }

    fn open(&mut self, spec: &AccountSpec) -> Expected {
        let wrong = Expected::Input(Vec::new());
        if self.find(spec.name.as_str()).is_some() {
            return wrong;
        }
        if let Some(parent) = spec.name.parent() {
            let Some(parent) = self.find(parent.as_str()) else { return wrong };
            let parent = &self.accounts[parent];
            if parent.standing != Standing::Open || parent.privacy != spec.privacy {
                return wrong;
            }
        }
        let Ok(filter) = spec.filter.clone().map(Filter::new).transpose() else { return wrong };
        let Ok(odometer) = Odometer::new(spec.odometer.clone()) else { return wrong };
        let (name, privacy) = (spec.name.to_string(), spec.privacy.clone());
        let (standing, history) = (Standing::Open, Vec::new());
        self.accounts.push(ReferenceAccount { name, privacy, filter, odometer, standing, charges: 0, history });
        self.record(&[self.accounts.len() - 1])
    }

    fn close(&mut self, name: &AccountName) -> Expected {
        let Some(at) = self.find(name.as_str()) else { return Expected::NoAccount };
        if self.accounts[at].standing == Standing::Closed {
            return Expected::Input(Vec::new());
        }
        self.accounts[at].standing = Standing::Closed;
        self.record(&[at])
    }

    /// The accounts that pay, parents first.
    fn payers(&self, accounts: &[AccountName]) -> Option<Vec<usize>> {
        let mut payers = Vec::new();
        for account in accounts {
            let parts: Vec<&str> = account.as_str().split('/').collect();
            for depth in 1..=parts.len() {
                let at = self.find(&parts[..depth].join("/"))?;
                if !payers.contains(&at) {
                    payers.push(at);
                }
            }
        }
        Some(payers)
    }

    fn charge(&mut self, charge: &Charge) -> Expected {
        if let Some((first, record)) = self.keys.get(charge.key().as_str()) {
            return if first == charge { Expected::Replayed(*record) } else { Expected::KeyTaken };
        }
        let Some(payers) = self.payers(charge.accounts()) else { return Expected::NoAccount };
        let privacy = self.accounts[payers[0]].privacy.clone();
        let is_about_all = payers.iter().all(|at| self.accounts[*at].privacy == privacy)
            && charge.unit().is_none_or(|unit| *unit == privacy.unit)
            && charge.neighbours().is_none_or(|neighbours| neighbours == privacy.neighbours);
        let is_priced =
            privacy.neighbours == Neighbours::AddRemove || !charge.costs().iter().any(Cost::is_for_add_remove_only);
        if !is_about_all || !is_priced {
            return Expected::Input(Vec::new());
        }
        let cannot = |at: &usize| {
            let ReferenceAccount { filter, odometer, .. } = &self.accounts[*at];
            charge.costs().iter().map(Cost::kind).any(|kind| {
                !odometer.spec().rule().takes(kind)
                    || filter.as_ref().is_some_and(|filter| !filter.spec().rule().takes(kind))
            })
        };
        let unable: Vec<usize> = payers.iter().copied().filter(|at| cannot(at)).collect();
        if !unable.is_empty() {
            return Expected::Input(self.names(&unable));
        }
        let (mut refusing, mut halting, mut after) = (Vec::new(), Vec::new(), Vec::new());
        for &at in &payers {
            let account = &self.accounts[at];
            let mut filter = account.filter.clone();
            let halts = filter.as_mut().is_some_and(|filter| {
                charge.costs().iter().any(|cost| matches!(filter.charge(cost), Ok(Verdict::Halt(_))))
            });
            if account.standing != Standing::Open || halts {
                refusing.push(at);
            }
            if account.standing == Standing::Open && halts && filter.as_ref().is_some_and(Filter::is_closed) {
                halting.push(at);
            }
            after.push(filter);
        }
        if !refusing.is_empty() {
            halting.iter().for_each(|at| self.accounts[*at].standing = Standing::Halted);
            if !halting.is_empty() {
                self.record(&halting);
            }
            return Expected::Refused(self.names(&refusing));
        }
        for (at, filter) in payers.iter().zip(after) {
            let account = &mut self.accounts[*at];
            account.filter = filter;
            account.charges += 1;
            charge.costs().iter().for_each(|cost| account.odometer.charge(cost).expect("its rule takes the cost"));
        }
        let recorded = self.record(&payers);
        self.keys.insert(charge.key().to_string(), (charge.clone(), self.newest));
        recorded
    }
}

impl ReferenceStateMachine for Reference {
    type State = Reference;
    type Transition = Command;

    fn init_state() -> BoxedStrategy<Reference> {
        let start = Reference { accounts: Vec::new(), keys: BTreeMap::new(), newest: 0, expected: Expected::Done };
        Just(start).boxed()
    }

    fn transitions(state: &Reference) -> BoxedStrategy<Command> {
        let open = specs(state).prop_map(|spec| Command::Open(Box::new(spec)));
        // As many accounts as it takes to be interesting come first.
        let opening = if state.accounts.len() < 4 { 30 } else { 6 };
        prop_oneof![
            opening => open,
            40 => charges(state).prop_map(Command::Charge),
            2 => opened_names(state).prop_map(Command::Close),
            2 => Just(Command::Reopen),
            2 => Just(Command::Verify),
            1 => Just(Command::Move),
        ]
        .boxed()
    }

    fn apply(mut state: Reference, command: &Command) -> Reference {
        state.expected = match command {
            Command::Open(spec) => state.open(spec),
            Command::Charge(charge) => state.charge(charge),
            Command::Close(name) => state.close(name),
            Command::Reopen | Command::Verify | Command::Move => Expected::Done,
        };
        state
    }
}

fn account_names() -> impl Strategy<Value = AccountName> {
    prop::sample::select(vec!["a", "b", "a/x", "a/y", "a/x/p", "a/x/q", "b/x", "b/x/p/deep"]).prop_map(name)
}

/// Names of accounts that exist, mostly.
fn opened_names(state: &Reference) -> BoxedStrategy<AccountName> {
    let opened: Vec<AccountName> = state.accounts.iter().map(|account| name(&account.name)).collect();
    match opened.is_empty() {
        true => account_names().boxed(),
        false => prop_oneof![10 => prop::sample::select(opened), 1 => account_names()].boxed(),
    }
}

fn privacies() -> impl Strategy<Value = Privacy> {
    let other = |unit: &str, neighbours| Privacy { unit: Unit::parse(unit).unwrap(), neighbours };
    prop_oneof![
        6 => Just(Privacy::default()),
        1 => Just(other("person", Neighbours::AddRemove)),
        1 => Just(other("record", Neighbours::Substitute)),
    ]
}

fn specs(state: &Reference) -> impl Strategy<Value = AccountSpec> + use<> {
    let known: BTreeMap<String, Privacy> =
        state.accounts.iter().map(|account| (account.name.clone(), account.privacy.clone())).collect();
    let budgets = prop::sample::select(vec!["1,1e-6", "0.3,1e-6", "0.05,1e-9", "2"]);
    let filters = prop::sample::select(FilterRule::ALL.to_vec());
    let odometers = prop_oneof![
        4 => Just(OdometerRule::RenyiMixture),
        1 => prop::sample::select(OdometerRule::ALL.to_vec()),
    ];
    let extras = (0..3, 0..3, 0..8);
    (account_names(), privacies(), filters, budgets, odometers, 0..6, extras).prop_map(
        move |(account, privacy, rule, budget, odometer, kind, (set_aside, limited, differs))| {
            let text = account.as_str();
            // What stands above it is mostly about the same.
            let above = account.parent().and_then(|parent| known.get(parent.as_str()).cloned());
            let privacy = above.filter(|_| differs > 0).unwrap_or(privacy);
            let mut spec = match kind {
                0 => reading(text),
                1 | 2 => stopping(ruled(text, rule, budget)),
                _ => ruled(text, rule, budget),
            };
            if let Some(filter) = &mut spec.filter {
                let delta = Amount::parse_exact("5e-10").unwrap();
                let with_delta = filter.budget.with_mechanism_delta(delta).ok().filter(|_| set_aside == 0);
                filter.budget = with_delta.unwrap_or(filter.budget);
                filter.max_cost = (limited == 0).then(|| epsilon("0.2").size());
            }
            let odometer = OdometerSpec::new(odometer, Amount::parse_exact("1e-6").unwrap());
            // Of the accounts that pay for a charge each has the scale of its own budget, or none.
            let odometer = match &spec.filter {
                Some(filter) => odometer.with_scale_of(&filter.budget),
                None => odometer,
            };
            AccountSpec { privacy, odometer, ..spec }
        },
    )
}

fn costs() -> impl Strategy<Value = Cost> {
    let sizes = prop::sample::select(vec!["0", "1e-30", "0.001", "0.01", "0.01", "0.1", "0.1", "0.3", "1", "1000"]);
    prop_oneof![
        20 => sizes.clone().prop_map(epsilon),
        6 => (prop::sample::select(CostKind::ALL.to_vec()), sizes)
            .prop_map(|(kind, size)| kind.example().with_size(Amount::parse_exact(size).unwrap())),
        1 => prop::sample::select(CostKind::ALL.to_vec()).prop_map(|kind| kind.example().with_size(Amount::MAX)),
        3 => Just(Cost::approximate(epsilon("0.001").size(), Amount::parse_exact("2e-10").unwrap()).unwrap()),
    ]
}

fn charges(state: &Reference) -> BoxedStrategy<Charge> {
    let keys = (0..40u32).prop_map(|at| format!("k{at}"));
    let accounts = prop_oneof![
        2 => prop::collection::vec(opened_names(state), 1..2),
        1 => prop::collection::vec(opened_names(state), 2..5),
    ];
    let lists = prop_oneof![4 => prop::collection::vec(costs(), 1..2), 1 => prop::collection::vec(costs(), 2..6)];
    let declared = prop_oneof![6 => Just(None), 1 => privacies().prop_map(Some)];
    let fresh = (keys, accounts, lists, declared).prop_map(|(key_text, accounts, costs, declared)| {
        let charge = Charge::new(key(&key_text), accounts, costs).unwrap();
        let (unit, neighbours) = declared.map(|privacy| (privacy.unit, privacy.neighbours)).unzip();
        charge.with_unit(unit).with_neighbours(neighbours)
    });
    let before: Vec<Charge> = state.keys.values().map(|(charge, _)| charge.clone()).collect();
    match before.is_empty() {
        true => fresh.boxed(),
        false => prop_oneof![6 => fresh, 1 => prop::sample::select(before)].boxed(),
    }
}

/// The ledger beside the reference.
struct System<S> {
    place: Place,
    ledger: Option<Ledger>,
    position: Position,
    store: PhantomData<S>,
}

impl<S: Store> StateMachineTest for System<S> {
    type SystemUnderTest = Self;
    type Reference = Reference;

    fn init_test(_: &Reference) -> Self {
        let place = S::place();
        let ledger = place.create();
        System { place, position: ledger.position(), ledger: Some(ledger), store: PhantomData }
    }

    fn apply(mut system: Self, reference: &Reference, command: Command) -> Self {
        let ledger = system.ledger.take().expect("a ledger is open between commands");
        system.ledger = Some(match command {
            Command::Open(spec) => {
                let recorded = ledger.open_account(*spec).map(Outcome::Replayed);
                check(recorded, &reference.expected, reference);
                ledger
            }
            Command::Close(name) => {
                check(ledger.close_account(name, None, None).map(Outcome::Replayed), &reference.expected, reference);
                ledger
            }
            Command::Charge(charge) => {
                let quote = ledger.quote(&charge);
                let outcome = ledger.charge(charge);
                check_quote(&quote, &outcome);
                check(outcome, &reference.expected, reference);
                ledger
            }
            Command::Reopen => {
                drop(ledger);
                system.place.open().unwrap()
            }
            Command::Verify => {
                let verified = system.place.verify();
                assert_eq!((verified.records, verified.accounts), (reference.newest + 1, reference.accounts.len()));
                check_history(&system.place, reference);
                ledger
            }
            Command::Move => {
                drop(ledger);
                let (export, next) = (system.place.export(), system.place.another());
                next.import(&export).unwrap();
                assert_eq!(next.export(), export);
                system.place = next;
                system.place.open().unwrap()
            }
        });
        let position = system.ledger.as_ref().expect("a ledger is open between commands").position();
        assert_eq!(position.sequence, reference.newest);
        // Only a new record changes where the ledger is.
        assert_eq!(position.hash == system.position.hash, position.sequence == system.position.sequence);
        system.position = position;
        system
    }

    fn check_invariants(system: &Self, reference: &Reference) {
        let accounts = system.ledger.as_ref().expect("a ledger is open between commands").accounts();
        assert_eq!(accounts.len(), reference.accounts.len());
        for (account, expected) in accounts.iter().zip(&reference.accounts) {
            let name = &expected.name;
            assert_eq!(account.name().as_str(), name);
            assert_eq!(account.privacy(), &expected.privacy, "{name}");
            assert_eq!(account.filter(), expected.filter.as_ref(), "{name}");
            assert_eq!(account.odometer(), &expected.odometer, "{name}");
            assert_eq!(account.standing(), expected.standing, "{name}");
            assert_eq!(account.charges(), expected.charges, "{name}");
            assert_eq!(Some(&account.sequence()), expected.history.last(), "{name}");
            let value = expected.odometer.reading().printed();
            assert_eq!(account.reading(), value.is_finite().then_some(value), "{name}");
        }
    }

    fn teardown(system: Self, reference: Reference) {
        drop(system.ledger);
        system.place.verify();
        check_history(&system.place, &reference);
    }
}

/// The answer must be the one that is expected. An opened or closed account counts as a receipt.
fn check(outcome: Result<Outcome, Error>, expected: &Expected, reference: &Reference) {
    let receipt = match (outcome, expected) {
        (Ok(Outcome::Charged(fresh)), Expected::Recorded(_)) => fresh.into_receipt(),
        (Ok(Outcome::Replayed(receipt)), Expected::Recorded(_) | Expected::Replayed(_)) => receipt,
        (Ok(Outcome::Refused(refusal)), Expected::Refused(who)) => {
            let refused: Vec<&str> = refusal.refused().iter().map(|(account, _)| account.as_str()).collect();
            assert_eq!(&refused, who);
            // What is said to fit those who refused would have taken.
            if let Some(fits) = refusal.fits() {
                let mut refusing = reference.accounts.iter().filter(|account| who.contains(&account.name));
                assert!(refusing.all(|account| account.standing != Standing::Closed && takes(account, &fits)));
            }
            return;
        }
        (Err(error), Expected::NoAccount) if error.is_no_account() => return,
        (Err(error), Expected::KeyTaken) if error.is_key_taken() => return,
        (Err(error), Expected::Input(who)) if error.is_input() && !error.is_no_account() && !error.is_key_taken() => {
            let is_named = match error.kind() {
                ErrorKind::UnsupportedCost { account, .. } => who.iter().any(|name| name == account.as_str()),
                _ => who.is_empty(),
            };
            assert!(is_named, "none of {who:?} is named: {error}");
            return;
        }
        (outcome, expected) => panic!("{expected:?} was expected, but this came: {outcome:?}"),
    };
    match expected {
        Expected::Recorded(about) => {
            assert_eq!(receipt.sequence(), reference.newest);
            let after: Vec<&str> = receipt.after().iter().map(|after| after.account.as_str()).collect();
            assert_eq!(&after, about);
        }
        Expected::Replayed(record) => assert_eq!(receipt.sequence(), *record),
        _ => unreachable!("other answers have no receipt"),
    }
}

fn takes(account: &ReferenceAccount, costs: &[Cost]) -> bool {
    let Some(mut filter) = account.filter.clone() else { return true };
    costs.iter().all(|cost| matches!(filter.charge(cost), Ok(Verdict::Continue)))
}

/// A quote says what the charge does, but for a key that was used before.
fn check_quote(quote: &Result<Quote, Error>, outcome: &Result<Outcome, Error>) {
    match (quote, outcome) {
        (_, Ok(Outcome::Replayed(_))) => {}
        (_, Err(error)) if error.is_key_taken() => {}
        (Ok(quote), Ok(Outcome::Charged(fresh))) => {
            assert!(quote.is_admitted());
            assert_eq!(quote.accounts().len(), fresh.receipt().after().len());
            for (quoted, after) in quote.accounts().iter().zip(fresh.receipt().after()) {
                let quoted = quoted.after.as_ref().unwrap();
                assert_eq!(quoted.name(), &after.account);
                assert_eq!(quoted.reading(), after.reading.map(|reading| reading.0));
                assert_eq!(quoted.left(), after.left.map(|left| left.0));
            }
        }
        (Ok(quote), Ok(Outcome::Refused(refusal))) => {
            let refusing = quote.accounts().iter().filter(|account| account.after.is_err());
            let refusing: Vec<&AccountName> = refusing.map(|account| account.before.name()).collect();
            assert_eq!(refusing, refusal.refused().iter().map(|(account, _)| account).collect::<Vec<_>>());
            // A halt closes the account, and then nothing fits any more.
            let fits = quote.fits().map(<[Cost]>::to_vec).filter(|_| refusal.halt().is_none());
            assert_eq!(fits, refusal.fits());
        }
        (quote, outcome) => assert!(quote.is_err() && outcome.is_err(), "{quote:?}, but {outcome:?}"),
    }
}

/// The history of every account is what the reference remembers of it.
fn check_history(place: &Place, reference: &Reference) {
    let mut reader = place.reader().unwrap();
    for account in &reference.accounts {
        let history = reader.history(&name(&account.name), None, usize::MAX).unwrap();
        let records: Vec<u64> = history.records.iter().rev().map(|receipt| receipt.sequence()).collect();
        assert_eq!(records, account.history, "{}", account.name);
    }
}
