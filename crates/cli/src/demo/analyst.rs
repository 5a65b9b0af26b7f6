//! The analyst of the paper's Example 2: asks cheap questions about everything, spends more where an answer is interesting, and stops
//! when nothing fits any more. Every question depends on the earlier answers.

use super::population::DISTRICTS;

/// A question and the ε that the analyst pays for it.
#[derive(Clone, Debug, PartialEq)]
pub struct DemoQuestion {
    pub sql: String,
    pub epsilon: &'static str,
    pub purpose: Purpose,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// The number of sick people in all districts.
    Glance,
    /// Their number in a suspicious district.
    Closer(usize),
    /// Their number in that district with less noise.
    Measure(usize),
    /// Their occupations in a district with an outbreak.
    Who(usize),
    /// Their average age in a district with an outbreak.
    Age(usize),
}

impl DemoQuestion {
    /// The question in a few words.
    pub fn text(&self) -> String {
        match self.purpose {
            Purpose::Glance => "glance at all districts".to_string(),
            Purpose::Closer(district) => format!("look closer at district {district}"),
            Purpose::Measure(district) => format!("measure district {district}"),
            Purpose::Who(district) => format!("by occupation in district {district}"),
            Purpose::Age(district) => format!("average age in district {district}"),
        }
    }
}

/// A glance is cheap and has large noise; the analyst pays more for a suspicion.
const GLANCE: &str = "0.01";
const CLOSER: &str = "0.02";
const MEASURE: &str = "0.05";

/// A district without an outbreak has about 75 sick people; this is more than twice that number.
const SUSPICIOUS: f64 = 200.0;

#[derive(Default)]
pub struct Analyst {
    /// The questions to ask before the next glance; the last one is next.
    plans: Vec<DemoQuestion>,
    /// The cost of the last refused question. Equal or higher costs are not tried again.
    refused: Option<f64>,
    pub found: Vec<usize>,
    /// The sum of all glances for each district.
    pub glances: Vec<f64>,
    /// The number of glances.
    pub rounds: u32,
}

impl Analyst {
    pub fn new() -> Analyst {
        Analyst { glances: vec![0.0; DISTRICTS], ..Analyst::default() }
    }

    /// The next question; none when even a glance is refused.
    pub fn next(&mut self) -> Option<DemoQuestion> {
        let glance = DemoQuestion {
            sql: "SELECT district, COUNT(*) AS sick FROM people WHERE sick = TRUE GROUP BY district".to_string(),
            epsilon: GLANCE,
            purpose: Purpose::Glance,
        };
        let ask = self.plans.pop().unwrap_or(glance);
        let affordable = |ask: &DemoQuestion| self.refused.is_none_or(|refused| price(ask) < refused);
        match affordable(&ask) {
            true => Some(ask),
            false if price(&ask) <= price_of(GLANCE) => None,
            false => self.next(),
        }
    }

    /// Notes a refusal.
    pub fn refused(&mut self, ask: &DemoQuestion) {
        self.refused = Some(price(ask));
    }

    /// Chooses the next questions from a noisy answer. Returns news, if there are any.
    pub fn hear(&mut self, ask: &DemoQuestion, values: &[f64]) -> Option<String> {
        match (ask.purpose, values) {
            (Purpose::Glance, counts) => {
                self.rounds += 1;
                for (sum, count) in self.glances.iter_mut().zip(counts) {
                    *sum += count;
                }
                // The noise averages out over the glances: more glances give fewer false alarms.
                let suspects = (0..DISTRICTS).filter(|district| {
                    !self.found.contains(district) && self.glances[*district] / f64::from(self.rounds) > SUSPICIOUS
                });
                let suspects: Vec<usize> = suspects.collect();
                self.plans.extend(
                    suspects.iter().rev().map(|district| sick_in(*district, CLOSER, Purpose::Closer(*district))),
                );
                None
            }
            (Purpose::Closer(district), [count]) => {
                if *count > SUSPICIOUS {
                    self.plans.push(sick_in(district, MEASURE, Purpose::Measure(district)));
                }
                None
            }
            (Purpose::Measure(district), [count]) if *count > SUSPICIOUS => {
                self.found.push(district);
                self.found.sort_unstable();
                self.plans.push(DemoQuestion {
                    sql: format!("SELECT AVG(age) FROM people WHERE sick = TRUE AND district = {district}"),
                    epsilon: MEASURE,
                    purpose: Purpose::Age(district),
                });
                self.plans.push(DemoQuestion {
                    sql: format!(
                        "SELECT occupation, COUNT(*) FROM people WHERE sick = TRUE AND district = {district} GROUP BY occupation"
                    ),
                    epsilon: CLOSER,
                    purpose: Purpose::Who(district),
                });
                Some("an outbreak!".to_string())
            }
            _ => None,
        }
    }
}

fn sick_in(district: usize, epsilon: &'static str, purpose: Purpose) -> DemoQuestion {
    DemoQuestion {
        sql: format!("SELECT COUNT(*) FROM people WHERE sick = TRUE AND district = {district}"),
        epsilon,
        purpose,
    }
}

fn price(ask: &DemoQuestion) -> f64 {
    price_of(ask.epsilon)
}

fn price_of(epsilon: &str) -> f64 {
    epsilon.parse().unwrap_or(f64::INFINITY)
}
