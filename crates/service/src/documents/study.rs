//! Studies: questions to be asked, and the plan of what they cost and need together.

use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};
use serde_with::skip_serializing_none;
use taximeter_accounting::{Amount, Cost};
use taximeter_gate::{NoiseKind, Number, Price};
use taximeter_ledger::{AccountName, Computed};
use utoipa::ToSchema;

use crate::documents::account::BudgetDocument;
use crate::documents::problem::Problem;
use crate::documents::question::QuestionRequest;

/// A study: the questions that are to be asked of a dataset.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(examples(json!({"dataset": "people", "questions": [
    {"name": "older people by region", "error": "20", "times": 4,
     "sql": "SELECT region, COUNT(*) FROM people WHERE age >= 65 GROUP BY region"},
    {"sql": "SELECT AVG(age) FROM people", "epsilon": "0.1"}
]})))]
pub struct StudyRequest {
    /// The dataset.
    pub dataset: AccountName,
    /// The account that pays: the dataset's or one below it [default: the token's own, or the dataset's].
    pub account: Option<AccountName>,
    /// The questions.
    #[schema(min_items = 1, max_items = 200)]
    pub questions: Vec<StudyQuestion>,
}

/// A question of a study, with one of: an error, an ε (with a δ for open groups), or a Gaussian μ.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct StudyQuestion {
    /// Its name [default: its number].
    pub name: Option<String>,
    /// The question, in SQL.
    #[schema(min_length = 1)]
    pub sql: String,
    /// The half width that its 95% intervals have at most.
    #[schema(value_type = Option<Number>)]
    pub error: Option<Json>,
    /// Which noise, for an error.
    pub noise: Option<NoiseKind>,
    /// The ε offered.
    #[schema(value_type = Option<Amount>)]
    pub epsilon: Option<Json>,
    /// The δ offered, for groups that are not declared.
    #[schema(value_type = Option<Amount>)]
    pub delta: Option<Json>,
    /// The μ offered, for Gaussian noise.
    #[schema(value_type = Option<Amount>)]
    pub gaussian: Option<Json>,
    /// How many times it is asked.
    #[serde(default = "once")]
    #[schema(value_type = u32, minimum = 1)]
    pub times: NonZeroU32,
}

fn once() -> NonZeroU32 {
    NonZeroU32::MIN
}

impl StudyRequest {
    /// The most questions of a study.
    pub const QUESTIONS: usize = 200;

    /// Reads a study in TOML.
    pub fn parse(text: &str) -> Result<StudyRequest, Problem> {
        toml::from_str(text).map_err(|error| Problem::bad_request(error.to_string().trim_end()))
    }

    /// The questions, each with the cost that is offered for it.
    pub(crate) fn requests(&self) -> Result<Vec<QuestionRequest>, Problem> {
        match self.questions.len() {
            0 => Err(Problem::bad_request("a study needs a question, and it has no questions; add one")),
            1..=StudyRequest::QUESTIONS => {
                let request = |(at, question)| self.request(question).map_err(|problem| self.about(at, problem));
                self.questions.iter().enumerate().map(request).collect()
            }
            many => Err(Problem::bad_request(format!(
                "a study has at most {} questions, not {many}; split it",
                StudyRequest::QUESTIONS
            ))),
        }
    }

    fn request(&self, question: &StudyQuestion) -> Result<QuestionRequest, Problem> {
        Ok(QuestionRequest {
            dataset: self.dataset.clone(),
            question: question.sql.clone(),
            price: question.price()?,
            weights: Default::default(),
            clamp: false,
            max_groups_per_unit: None,
            count_clamped: false,
            account: self.account.clone(),
            joined_account: None,
            reuse: false,
        })
    }

    /// The name of a question, by its index.
    pub(crate) fn name(&self, at: usize) -> String {
        let given = self.questions.get(at).and_then(|question| question.name.clone());
        given.unwrap_or_else(|| format!("question {}", at + 1))
    }

    /// A problem with a question: it names the question.
    pub(crate) fn about(&self, at: usize, problem: Problem) -> Problem {
        let detail = format!("{}: {}", self.name(at), problem.detail);
        Problem { detail, question: Some(at + 1), ..problem }
    }
}

impl StudyQuestion {
    fn price(&self) -> Result<Price, Problem> {
        let price = match (&self.error, &self.epsilon, &self.delta, &self.gaussian) {
            (Some(width), None, None, None) => {
                json!({ "error": { "width": width, "noise": self.noise.unwrap_or_default() } })
            }
            (None, Some(epsilon), None, None) => json!({ "epsilon": epsilon }),
            (None, Some(epsilon), Some(delta), None) => {
                json!({ "approximate": { "epsilon": epsilon, "delta": delta } })
            }
            (None, None, None, Some(mu)) => json!({ "gaussian": mu }),
            _ => {
                let detail = "give one of error, epsilon (with a delta for open groups) and gaussian";
                return Err(Problem::bad_request(detail));
            }
        };
        serde_json::from_value(price).map_err(|error| Problem::bad_request(error.to_string()))
    }
}

/// What the questions of a study cost, what all of them need, and what they leave. Charges nothing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct StudyPlan {
    /// The dataset.
    pub dataset: AccountName,
    /// The questions, as they are listed.
    pub questions: Vec<PlannedQuestion>,
    /// Σε over all of them; null if a question has no ε.
    pub added_up: Option<Amount>,
    /// The order for which the smallest budget is enough.
    pub order: StudyOrder,
    /// The accounts that would pay, from the root down, without those that the caller may not see.
    pub accounts: Vec<PlannedAccount>,
    /// Whether accounts pay that the caller may not see.
    #[serde(default)]
    pub others_pay: bool,
    /// Whether those that the caller may see would take all questions now, in the best order.
    pub fits_now: bool,
    /// The largest ε of one more question that all of these accounts would take afterwards; null if there is none.
    pub largest_after: Option<Amount>,
}

/// An order of the questions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StudyOrder {
    /// It does not matter.
    Any,
    /// As they are listed.
    AsListed,
    /// Small costs first.
    SmallFirst,
    /// Large costs first.
    LargeFirst,
}

/// What a question of a study costs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PlannedQuestion {
    /// Its name.
    pub name: String,
    /// How many times it is asked.
    pub times: u32,
    /// What it costs each time.
    pub cost: Cost,
    /// The half width of its 95% intervals; null where it depends on the answer.
    pub within: Option<f64>,
    /// Its place in the best order, from 1.
    pub place: u32,
}

/// What a study needs of an account, and what it leaves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PlannedAccount {
    /// The account.
    pub account: AccountName,
    /// The rule that decides; null without a budget.
    pub rule: Option<String>,
    /// Its budget; null for an account that only reads.
    pub budget: Option<BudgetDocument>,
    /// The smallest ε of a new budget with this rule and δ that takes all questions; null if none does.
    pub needs: Option<Computed>,
    /// The share of the budget that is left now.
    pub left: Option<Computed>,
    /// The share that all questions leave; null if it does not take all of them.
    pub left_after: Option<Computed>,
    /// The shares left after each question, in the best order; the last may be one that it refuses, as often as it takes it.
    pub steps: Vec<Option<Computed>>,
    /// How many questions of ε = 0.01 it would take after all of them; null if it does not take all of them.
    pub surprises: Option<u64>,
    /// Whether that is only a lower bound.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub at_least: bool,
    /// The first question that it refuses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<RefusedQuestion>,
}

/// The first question of a study that an account refuses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RefusedQuestion {
    /// Its name.
    pub name: String,
    /// How many times it is taken before.
    pub taken: u32,
    /// Why it is refused.
    pub reason: String,
}

impl StudyPlan {
    /// The ε of a question that was not planned.
    pub const SURPRISE: &str = "0.01";

    /// The indices of the questions in the best order.
    pub fn in_order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.questions.len()).collect();
        order.sort_by_key(|at| self.questions[*at].place);
        order
    }
}

impl StudyOrder {
    /// The order in words.
    pub fn words(self) -> &'static str {
        match self {
            StudyOrder::Any => "any: the budget does not depend on it",
            StudyOrder::AsListed => "as listed",
            StudyOrder::SmallFirst => "small costs first",
            StudyOrder::LargeFirst => "large costs first",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_study_is_the_same_in_toml_and_in_json() {
        let toml = "dataset = \"people\"\n[[questions]]\nsql = \"SELECT 1\"\nerror = 100\n\
                    [[questions]]\nsql = \"SELECT 2\"\nepsilon = 0.1\ndelta = \"1e-9\"\ntimes = 3";
        let study = StudyRequest::parse(toml).unwrap();
        let json = json!({ "dataset": "people", "questions": [
            { "sql": "SELECT 1", "error": 100 },
            { "sql": "SELECT 2", "epsilon": "0.1", "delta": 1e-9, "times": 3 },
        ] });
        let read: StudyRequest = serde_json::from_value(json).unwrap();
        let prices = |study: &StudyRequest| study.requests().unwrap().into_iter().map(|request| request.price);
        assert!(prices(&study).eq(prices(&read)));
        let sent: StudyRequest = serde_json::from_str(&serde_json::to_string(&study).unwrap()).unwrap();
        assert_eq!((sent, study.questions[1].times.get()), (study, 3));
    }

    #[test]
    fn a_problem_names_the_question() {
        let study = |questions: &str| StudyRequest::parse(&format!("dataset = \"people\"\n{questions}"));
        for (questions, at, part) in [
            ("questions = []", None, "it has no questions"),
            ("[[questions]]\nsql = \"x\"", Some(1), "question 1: give one of error"),
            ("[[questions]]\nsql = \"x\"\nepsilon = true", Some(1), "question 1: true is not a number"),
            (
                "[[questions]]\nsql = \"x\"\nerror = 1\n[[questions]]\nname = \"late\"\nsql = \"x\"\ngaussian = \"much\"",
                Some(2),
                "late: ",
            ),
        ] {
            let problem = study(questions).unwrap().requests().unwrap_err();
            assert!(problem.question == at && problem.detail.contains(part), "{problem}");
        }
        let many = "[[questions]]\nsql = \"x\"\nepsilon = 1\n".repeat(StudyRequest::QUESTIONS + 1);
        assert!(study(&many).unwrap().requests().unwrap_err().detail.contains("at most 200 questions, not 201"));
        for (questions, part) in [
            ("[[questions]]\nsql = \"x\"\nepsilom = 1", "unknown field `epsilom`"),
            ("[[questions]]\nsql = \"x\"\ntimes = 0", "times = 0"),
        ] {
            assert!(study(questions).unwrap_err().detail.contains(part));
        }
    }
}
