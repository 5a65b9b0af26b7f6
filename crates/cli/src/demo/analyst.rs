//! The analyst of the paper's Example 2: asks cheap questions about everything, spends more where an answer is interesting, and stops
//! when nothing fits any more. Every question depends on the earlier answers.

use super::population::DISTRICTS;

/// A question about the sick people. All but the first are about one district.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DemoQuestion {
    /// Their number in every district.
    Glance,
    /// Their number in a suspicious district.
    Closer(usize),
    /// Their number in that district with less noise.
    Measure(usize),
    /// Their occupations, after an outbreak was found.
    Occupations(usize),
    /// Their average age, after an outbreak was found.
    Age(usize),
}

impl DemoQuestion {
    /// The question in a few words.
    pub fn text(self) -> String {
        match self {
            DemoQuestion::Glance => "glance at all districts".to_string(),
            DemoQuestion::Closer(district) => format!("look closer at district {district}"),
            DemoQuestion::Measure(district) => format!("measure district {district}"),
            DemoQuestion::Occupations(district) => format!("by occupation in district {district}"),
            DemoQuestion::Age(district) => format!("average age in district {district}"),
        }
    }

    /// The ε that the analyst pays. A glance is cheap and has large noise; a suspicion is worth more.
    pub fn epsilon(self) -> &'static str {
        match self {
            DemoQuestion::Glance => "0.01",
            DemoQuestion::Closer(_) | DemoQuestion::Occupations(_) => "0.02",
            DemoQuestion::Measure(_) | DemoQuestion::Age(_) => "0.05",
        }
    }

    pub fn sql(self) -> String {
        let select = |what: &str, district: usize, group: &str| {
            format!("SELECT {what} FROM people WHERE sick = TRUE AND district = {district}{group}")
        };
        match self {
            DemoQuestion::Glance => {
                "SELECT district, COUNT(*) AS sick FROM people WHERE sick = TRUE GROUP BY district".to_string()
            }
            DemoQuestion::Closer(district) | DemoQuestion::Measure(district) => select("COUNT(*)", district, ""),
            DemoQuestion::Occupations(district) => select("occupation, COUNT(*)", district, " GROUP BY occupation"),
            DemoQuestion::Age(district) => select("AVG(age)", district, ""),
        }
    }

    fn price(self) -> f64 {
        self.epsilon().parse().unwrap_or(f64::INFINITY)
    }
}

/// A district without an outbreak has about 75 sick people; this is more than twice that number.
const SUSPICIOUS: f64 = 200.0;

#[derive(Default)]
pub struct Analyst {
    /// The questions to ask before the next glance; the last one is next.
    plans: Vec<DemoQuestion>,
    /// The cost of the last refused question. Equal or higher costs are not tried again.
    refused: Option<f64>,
    /// The districts with an outbreak.
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
        let question = self.plans.pop().unwrap_or(DemoQuestion::Glance);
        match self.refused {
            Some(refused) if question.price() >= refused && question == DemoQuestion::Glance => None,
            Some(refused) if question.price() >= refused => self.next(),
            _ => Some(question),
        }
    }

    /// Notes a refusal.
    pub fn refused(&mut self, question: DemoQuestion) {
        self.refused = Some(question.price());
    }

    /// Chooses the next questions from a noisy answer. Returns whether it shows an outbreak.
    pub fn hear(&mut self, question: DemoQuestion, values: &[f64]) -> bool {
        match (question, values) {
            (DemoQuestion::Glance, counts) => {
                self.rounds += 1;
                for (sum, count) in self.glances.iter_mut().zip(counts) {
                    *sum += count;
                }
                // The noise averages out over the glances: more glances give fewer false alarms.
                let mean = |district: usize| self.glances[district] / f64::from(self.rounds);
                let suspects = (0..DISTRICTS).rev().filter(|at| !self.found.contains(at) && mean(*at) > SUSPICIOUS);
                self.plans.extend(suspects.map(DemoQuestion::Closer));
                false
            }
            (DemoQuestion::Closer(district), [count]) if *count > SUSPICIOUS => {
                self.plans.push(DemoQuestion::Measure(district));
                false
            }
            (DemoQuestion::Measure(district), [count]) if *count > SUSPICIOUS => {
                self.found.push(district);
                self.found.sort_unstable();
                self.plans.extend([DemoQuestion::Age(district), DemoQuestion::Occupations(district)]);
                true
            }
            _ => false,
        }
    }
}
