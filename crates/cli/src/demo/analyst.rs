//! The analyst of the paper's Example 2: looks round cheaply, looks closer and spends more where the last answer is interesting, and
//! goes on until nothing fits any more. What comes next depends on what was answered before.

use super::population::DISTRICTS;

/// A question and what the analyst offers for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Ask {
    pub sql: String,
    pub epsilon: &'static str,
    pub purpose: Purpose,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// How many are sick, everywhere.
    Glance,
    /// How many are sick in a district that looked bad.
    Closer(usize),
    /// The same with less noise.
    Measure(usize),
    /// Who is hit in a district with an outbreak.
    Who(usize),
    /// How old they are.
    Age(usize),
}

impl Ask {
    /// What is done, in few words.
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

/// A glance costs little, and its noise is large; a measurement is what an outbreak is worth.
const GLANCE: &str = "0.01";
const CLOSER: &str = "0.02";
const MEASURE: &str = "0.05";

/// More than twice the usual number: about 75 are sick in a district without an outbreak.
const SUSPICIOUS: f64 = 200.0;

#[derive(Default)]
pub struct Analyst {
    /// What comes before the next glance, the next one last.
    plans: Vec<Ask>,
    /// The dearest question that was refused; such are not asked again.
    refused: Option<f64>,
    pub found: Vec<usize>,
    /// The sum of what was counted in a district at a glance, and how often.
    pub glances: Vec<f64>,
    pub rounds: u32,
}

impl Analyst {
    pub fn new() -> Analyst {
        Analyst { glances: vec![0.0; DISTRICTS], ..Analyst::default() }
    }

    /// The next question; nothing when not even a glance is admitted.
    pub fn next(&mut self) -> Option<Ask> {
        let glance = Ask {
            sql: "SELECT district, COUNT(*) AS sick FROM people WHERE sick = TRUE GROUP BY district".to_string(),
            epsilon: GLANCE,
            purpose: Purpose::Glance,
        };
        let ask = self.plans.pop().unwrap_or(glance);
        let affordable = |ask: &Ask| self.refused.is_none_or(|refused| price(ask) < refused);
        match affordable(&ask) {
            true => Some(ask),
            false if price(&ask) <= price_of(GLANCE) => None,
            false => self.next(),
        }
    }

    /// After a refusal: what costs as much is not asked again.
    pub fn refused(&mut self, ask: &Ask) {
        self.refused = Some(price(ask));
    }

    /// Chooses what to do from a noisy answer; says so if it is news.
    pub fn hear(&mut self, ask: &Ask, values: &[f64]) -> Option<String> {
        match (ask.purpose, values) {
            (Purpose::Glance, counts) => {
                self.rounds += 1;
                for (sum, count) in self.glances.iter_mut().zip(counts) {
                    *sum += count;
                }
                // The noise of the glances so far averages out: the more there were, the fewer false alarms.
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
                self.plans.push(Ask {
                    sql: format!("SELECT AVG(age) FROM people WHERE sick = TRUE AND district = {district}"),
                    epsilon: MEASURE,
                    purpose: Purpose::Age(district),
                });
                self.plans.push(Ask {
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

fn sick_in(district: usize, epsilon: &'static str, purpose: Purpose) -> Ask {
    Ask { sql: format!("SELECT COUNT(*) FROM people WHERE sick = TRUE AND district = {district}"), epsilon, purpose }
}

fn price(ask: &Ask) -> f64 {
    price_of(ask.epsilon)
}

fn price_of(epsilon: &str) -> f64 {
    epsilon.parse().unwrap_or(f64::INFINITY)
}
