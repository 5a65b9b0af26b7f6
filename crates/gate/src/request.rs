//! A question with what is offered for it, made ready to be charged: understood, planned, and priced, with no data touched.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use taximeter_accounting::Cost;
use taximeter_ledger::{AccountName, Charge, Hash, Key, Note, Who};

use crate::answer::{self, ExactQuery};
use crate::catalog::{Catalog, Dataset, StoredAnswer};
use crate::document::{ExpectedAverage, JoinedVersion, MeasuredPart};
use crate::engine::Engine;
use crate::error::{Error, ErrorKind};
use crate::joined::{JoinableDatasets, JoinedDataset, private_table};
use crate::mode::ModePart;
use crate::number::Number;
use crate::plan::{Plan, Price, QuantilePart, QueryPlan, Weights};
use crate::question::{Query, Question};
use crate::schema::Value;
use crate::sql::{Statement, Target, TemporaryTable};

/// A question with what is offered for it.
#[derive(Clone, Debug)]
pub struct Request {
    /// The dataset.
    pub dataset: AccountName,
    /// The question, in SQL.
    pub question: String,
    /// What is offered.
    pub price: Price,
    /// How much of the price columns of the answer get, by their names: 1 for those that are not named. `intervals` is what the interval
    /// of a quantile gets beside the quantile: as much, unless it is named; 0 for none.
    pub weights: BTreeMap<String, Number>,
    /// Whether counts are clamped at 0 afterwards.
    pub clamp: bool,
    /// In how many groups a unit counts at most, where the groups are not declared.
    pub max_groups_per_unit: Option<u32>,
    /// Whether rows with values outside of their bounds are counted too, for a tenth of the price.
    pub count_clamped: bool,
    /// The account that pays, if it is not the dataset's own: one below it.
    pub account: Option<AccountName>,
    /// The other datasets that the question may join, and who pays for them.
    pub joinable: JoinableDatasets,
    /// Who asks. A note, not a proof.
    pub by: Option<Who>,
    /// Whose the key and the stored answers are; nothing for a person at the machine.
    pub principal: Option<String>,
    /// The idempotency key: the same one gives the same answer.
    pub key: Key,
    /// Whether the account's own earlier answer to the same question will do.
    pub reuse: bool,
}

impl Request {
    /// A question to be paid for by the dataset's own account, under a new key.
    pub fn new(dataset: &AccountName, question: &str, price: Price) -> Result<Request, Error> {
        Ok(Request {
            dataset: dataset.clone(),
            question: question.to_string(),
            price,
            weights: BTreeMap::new(),
            clamp: false,
            max_groups_per_unit: None,
            count_clamped: false,
            account: None,
            joinable: JoinableDatasets::Any(None),
            by: None,
            principal: None,
            key: Key::generate()?,
            reuse: false,
        })
    }

    /// The key on the ledger, under which everything is stored: no two principals have the same.
    pub(crate) fn ledger_key(&self) -> Result<Key, Error> {
        match &self.principal {
            None => Ok(self.key.clone()),
            Some(principal) => Ok(Key::belonging_to(principal, self.key.as_str())?),
        }
    }
}

/// The statements of one SELECT.
pub(crate) struct QueryStatements {
    /// The one that measures; none if only quantiles are asked for.
    pub(crate) measures: Option<Statement>,
    /// One for every quantile.
    pub(crate) histograms: Vec<Statement>,
}

impl QueryStatements {
    /// Runs them, until then at the latest.
    pub(crate) fn run(&self, engine: &mut dyn Engine, until: Instant) -> Result<ExactQuery, String> {
        let mut run = |statement: &Statement| engine.run(statement, until.saturating_duration_since(Instant::now()));
        let groups = self.measures.as_ref().map(&mut run).transpose()?.unwrap_or_default();
        let histograms = self.histograms.iter().map(&mut run).collect::<Result<_, String>>()?;
        Ok(ExactQuery { groups, histograms })
    }
}

/// A request that is ready to be charged.
pub struct Prepared {
    pub(crate) dataset: Dataset,
    /// The other dataset that the question joins.
    pub(crate) joined: Option<JoinedDataset>,
    pub(crate) question: Question,
    pub(crate) canonical: String,
    pub(crate) plan: Plan,
    pub(crate) account: AccountName,
    /// Whose the key is.
    pub(crate) principal: Option<String>,
    /// The key as its owner knows it; the charge has the one on the ledger.
    pub(crate) key: Key,
    pub(crate) charge: Charge,
    /// The hash of everything that the answer depends on but the data.
    pub(crate) hash: String,
    pub(crate) clamp: bool,
    pub(crate) reuse: bool,
}

impl Prepared {
    /// Parses, checks and prices a request.
    pub fn new(catalog: &Catalog, request: &Request) -> Result<Prepared, Error> {
        let ledger_key = request.ledger_key()?;
        let dataset = catalog.dataset_for_key(&request.dataset, ledger_key.as_str())?;
        let public = catalog.public_tables_in(&request.question)?;
        let others = request.joinable.in_question(catalog, &request.question, &dataset, ledger_key.as_str())?;
        let private: Vec<_> = others.iter().map(private_table).collect();
        let (text, name) = (&request.question, dataset.name.as_str());
        let mut question = Question::parse_with(text, name, &dataset.schema, &public, &private)?;
        let joined = JoinedDataset::new(&question, &dataset, others, &request.joinable)?;
        if let Some(most) = request.max_groups_per_unit {
            let key = blake3::derive_key("taximeter: which groups of a unit count", &dataset.key);
            let dialect = dataset.source.address().0;
            question.limit_groups(most, &dataset.schema, dialect, &blake3::Hash::from(key).to_hex())?;
        }
        if request.count_clamped {
            question.count_clamped()?;
        }
        let canonical = question.canonical.clone();
        let weights = Weights::new(&request.weights, &question)?;
        let mut plan = Plan::new(&question, &dataset.schema, request.price, &weights)?;
        let floor = joined.as_ref().and_then(|joined| joined.dataset.min_epsilon);
        if let Some(least) = dataset.min_epsilon.into_iter().chain(floor).max() {
            plan = plan.at_least(least, &question, &dataset.schema, request.price, &weights)?;
        }
        let account = match &request.account {
            None => dataset.name.clone(),
            Some(account) if account.path().any(|above| above == dataset.name.as_str()) => account.clone(),
            Some(account) => {
                let needs = format!("it does not pay for the dataset {0}; name one below {0}", dataset.name);
                return Err(Error::value("account", account, needs));
            }
        };
        let hash = request_hash(&question, &plan.costs(), request, joined.as_ref());
        let privacy = dataset.schema.privacy()?;
        let paying = std::iter::once(&account).chain(joined.as_ref().map(|joined| &joined.account));
        let charge = Charge::new(ledger_key, paying.cloned().collect(), plan.costs())?
            .with_unit(Some(privacy.unit))
            .with_neighbours(Some(privacy.neighbours))
            .by(request.by.clone())
            .with_note(Some(note(&hash, &canonical)?));
        let Request { principal, key, clamp, reuse, .. } = request.clone();
        Ok(Prepared { dataset, joined, question, canonical, plan, account, principal, key, charge, hash, clamp, reuse })
    }

    /// An error about its key, as its owner knows it.
    pub(crate) fn key_taken(&self, used_for: &'static str) -> Error {
        ErrorKind::KeyTaken { key: self.key.clone(), used_for }.into()
    }

    /// An error of its charge.
    pub(crate) fn of_ledger(&self, error: taximeter_ledger::Error) -> Error {
        match error.is_key_taken() {
            true => self.key_taken("another request"),
            false => error.into(),
        }
    }

    /// The charge that it needs.
    pub fn charge(&self) -> &Charge {
        &self.charge
    }

    /// What is paid in all.
    pub fn cost(&self) -> Cost {
        self.plan.total
    }

    /// The question in one way of writing.
    pub fn canonical(&self) -> &str {
        &self.canonical
    }

    /// The account that pays.
    pub fn account(&self) -> &AccountName {
        &self.account
    }

    /// The dataset.
    pub fn dataset(&self) -> &Dataset {
        &self.dataset
    }

    /// The other dataset that the question joins, and its version.
    pub fn joined(&self) -> Option<JoinedVersion> {
        let Dataset { name, version, .. } = &self.joined.as_ref()?.dataset;
        Some(JoinedVersion { dataset: name.clone(), version: *version })
    }

    /// The dataset, and the other one that the question joins.
    pub(crate) fn datasets(&self) -> impl Iterator<Item = &Dataset> {
        std::iter::once(&self.dataset).chain(self.joined.as_ref().map(|joined| &joined.dataset))
    }

    /// How long the question may take: as long as the owners of all its datasets let it.
    pub(crate) fn timeout(&self) -> Duration {
        self.datasets().map(|dataset| dataset.timeout).min().unwrap_or_default()
    }

    /// The statements that would run, each with its parameters, as they would be shown.
    pub fn sql(&self) -> Vec<(String, Vec<String>)> {
        // A public table is a long parameter.
        let keys: Vec<&str> =
            self.question.queries.iter().filter_map(|query| Some(query.group_limit.as_ref()?.key.as_str())).collect();
        let beginning = |parameter: &Value| {
            if matches!(parameter, Value::Text(text) if keys.contains(&text.as_str())) {
                return "a secret key".to_string();
            }
            let text = parameter.to_string();
            let shown: String = text.chars().take(2 * Value::TEXT).collect();
            if shown.len() < text.len() { format!("{shown}…") } else { shown }
        };
        let shown = |Statement { tables, sql, parameters, .. }: Statement| {
            let made = |TemporaryTable { create, fill, rows }: TemporaryTable| {
                [(create, Vec::new()), (fill, vec![beginning(&rows)])]
            };
            let tables = tables.into_iter().flat_map(made);
            // An engine without parameters has the key in the statement itself.
            let sql = keys.iter().fold(sql, |sql, key| sql.replace(key, "a secret key"));
            tables.chain([(sql, parameters.iter().map(beginning).collect())]).collect::<Vec<_>>()
        };
        let queries = self.question.all_queries().zip(&self.plan.queries);
        let statements = queries.map(|(query, plan)| self.statements(query, plan, &[]));
        statements.flat_map(|of| of.measures.into_iter().chain(of.histograms).flat_map(shown)).collect()
    }

    /// What runs for a SELECT, once the sub-queries before it are answered.
    pub(crate) fn statements(&self, query: &Query, plan: &QueryPlan, asked: &[Option<f64>]) -> QueryStatements {
        let (dialect, own) = self.dataset.source.address();
        let (table, schema) = match (&query.private, &self.joined) {
            (Some(join), Some(joined)) => joined.rows(&self.dataset, join),
            _ => (own, &self.dataset.schema),
        };
        let target = Target { schema, dialect, table: &table, asked };
        let measures = plan.parts.iter().map(|part| &part.measure);
        let histogram = |part: &QuantilePart| Statement::histogram(query, &part.of, part.filter.as_ref(), target);
        let of_mode = |part: &ModePart| Statement::histogram(query, &part.of, part.filter.as_ref(), target);
        QueryStatements {
            measures: (!plan.parts.is_empty()).then(|| Statement::measuring(query, measures, target)),
            histograms: plan.quantiles.iter().map(histogram).chain(plan.modes.iter().map(of_mode)).collect(),
        }
    }

    /// What is stored about its answer.
    pub(crate) fn stored(&self, document: Option<String>) -> StoredAnswer {
        StoredAnswer {
            key: self.charge.key().to_string(),
            request: self.hash.clone(),
            account: self.account.clone(),
            dataset: self.dataset.name.clone(),
            version: self.dataset.version,
            document,
            stored: Timestamp::now(),
        }
    }

    /// The numbers that would be computed, and the noise on them.
    pub fn parts(&self) -> Vec<MeasuredPart> {
        answer::measured_parts(&self.plan, &self.question.schema)
    }

    /// What can be said beforehand about its averages.
    pub fn averages(&self) -> Vec<ExpectedAverage> {
        answer::averages(&self.question, &self.plan)
    }

    /// The keys whose groups are the values that the question names, since nothing is declared about them.
    pub fn named_groups(&self) -> Vec<String> {
        let mut named: Vec<String> = Vec::new();
        for group in self.question.queries.iter().flat_map(|query| &query.groups) {
            if group.is_named(&self.question.schema) && !named.contains(&group.name) {
                named.push(group.name.clone());
            }
        }
        named
    }

    /// How many groups the answer has; nothing if that depends on the data.
    pub fn groups(&self) -> Option<u64> {
        self.question.queries.iter().map(|query| query.group_count().map(|groups| groups as u64)).sum()
    }
}

/// The hash of a request: the same key with another one is a mistake. The content of a public table is a part of the question.
fn request_hash(question: &Question, costs: &[Cost], asked: &Request, joined: Option<&JoinedDataset>) -> String {
    let mut request = serde_json::json!({ "question": question.canonical, "costs": costs, "clamp": asked.clamp });
    if let Some(most) = asked.max_groups_per_unit {
        request["max_groups_per_unit"] = most.into();
    }
    if asked.count_clamped {
        request["count_clamped"] = true.into();
    }
    if let Some(JoinedDataset { dataset, account, .. }) = joined {
        request["joined"] = serde_json::json!({ "dataset": dataset.name, "account": account });
    }
    let public: BTreeMap<_, _> = question.public_tables().map(|table| (table.name().as_str(), table.hash())).collect();
    if !public.is_empty() {
        request["public"] = serde_json::json!(public);
    }
    blake3::hash(request.to_string().as_bytes()).to_hex().to_string()
}

/// The hash and the SQL in the note of a question's charge; nothing for the note of another charge.
pub fn question_in_note(note: &str) -> Option<(&str, &str)> {
    let (hash, question) = note.strip_prefix("question ")?.split_once(": ")?;
    Hash::parse(hash).map(|_| (hash, question))
}

/// What the journal says about it: the hash, which ties the key to the question, and as much of the question as fits.
fn note(hash: &str, canonical: &str) -> Result<Note, Error> {
    let mut text = format!("question {hash}: {canonical}");
    while text.len() > 1024 {
        text.pop();
    }
    // A literal may have characters that a note must not have.
    Ok(Note::parse("note", &text).or_else(|_| Note::parse("note", &format!("question {hash}")))?)
}
