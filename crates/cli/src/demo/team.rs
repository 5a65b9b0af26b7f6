//! The analysts of the dataset, and the questions they asked before a visitor comes.

use taximeter_accounting::{Budget, FilterRule, FilterSpec, OdometerRule, OdometerSpec, Rounding};
use taximeter_gate::{Gate, GateOutcome, Price, Request, Rules};
use taximeter_ledger::{AccountName, Who};

use crate::args::flag;
use crate::output::Failure;

/// The owner of the dataset and the surveys.
pub const OWNER: &str = "olga";

/// An analyst with an account below that of the dataset.
struct Member {
    name: &'static str,
    budget: &'static str,
    /// The questions and their ε. The last one exceeds the budget and is refused.
    asked: &'static [(&'static str, &'static str)],
}

/// The analysts, in the order in which they joined.
const TEAM: [Member; 2] = [
    Member {
        name: "alice",
        budget: "0.4,1e-6",
        asked: &[
            ("SELECT COUNT(*) FROM people", "0.005"),
            ("SELECT occupation, COUNT(*) FROM people GROUP BY occupation", "0.01"),
            ("SELECT occupation, AVG(income) FROM people GROUP BY occupation", "0.04"),
            ("SELECT COUNT(*) FROM people WHERE sick = TRUE", "0.01"),
            ("SELECT occupation, COUNT(*) FROM people WHERE sick = TRUE GROUP BY occupation", "0.02"),
            ("SELECT AVG(age) FROM people WHERE sick = TRUE", "0.03"),
            ("SELECT SUM(income) FROM people WHERE occupation = 'farm'", "0.02"),
            ("SELECT AVG(income) FROM people WHERE age BETWEEN 25 AND 40", "0.6"),
        ],
    },
    Member {
        name: "bob",
        budget: "0.25,1e-6",
        asked: &[
            ("SELECT district, COUNT(*) FROM people GROUP BY district", "0.02"),
            ("SELECT COUNT(*) FROM people WHERE income > 60000", "0.01"),
            ("SELECT AVG(income) FROM people", "0.03"),
            ("SELECT AVG(age), COUNT(*) FROM people WHERE occupation IN ('care', 'school')", "0.05"),
            ("SELECT district, AVG(income) FROM people GROUP BY district", "0.4"),
        ],
    },
];

/// The names of the analysts.
pub fn names() -> [&'static str; TEAM.len()] {
    TEAM.map(|member| member.name)
}

/// The rules of an account with a budget.
pub fn rules(budget: Budget) -> Rules {
    Rules {
        filter: Some(FilterSpec::new(FilterRule::Residue, budget)),
        odometer: OdometerSpec::beside(OdometerRule::RenyiMixture, &budget),
    }
}

/// Opens the accounts of the analysts and asks their questions.
pub fn work(gate: &Gate, people: &AccountName) -> Result<(), Failure> {
    for Member { name, budget, asked } in TEAM {
        let account = gate.add_analyst(people, name, rules(Budget::parse(budget)?))?;
        for (sql, epsilon) in asked {
            let mut request = request(people, sql, epsilon, Some(name))?;
            request.account = Some(account.clone());
            if let GateOutcome::NoAnswer(receipt) = gate.ask(&request)? {
                return Err(no_answer(receipt.sequence()));
            }
        }
    }
    Ok(())
}

/// A question with its ε. Without a name, it is asked by the person at the machine.
pub fn request(people: &AccountName, sql: &str, epsilon: &str, who: Option<&str>) -> Result<Request, Failure> {
    let price = Price::Epsilon(flag("epsilon", epsilon, Rounding::Up)?);
    let by = who.map(|who| Who::parse("who", who)).transpose()?;
    Ok(Request { by, principal: who.map(str::to_string), ..Request::new(people, sql, price)? })
}

/// The failure of a question that is charged and has no answer.
pub fn no_answer(sequence: u64) -> Failure {
    Failure::Other(format!("record {sequence} is charged and has no answer; `dataset log` tells why"))
}
