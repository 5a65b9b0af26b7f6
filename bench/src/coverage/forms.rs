//! Every form of question, with what is wanted of its intervals.

use taximeter_accounting::Amount;
use taximeter_gate::{Estimate, Price, Request};

use super::measure::{Fallible, request};
use super::survey::{GroupOf, SurveyRow, SurveyStatistic, statistics as of};

/// A question whose last column is looked at.
pub struct CoverageForm {
    pub name: &'static str,
    pub sql: String,
    pub offer: PaidWith,
    pub group: GroupOf,
    pub statistic: SurveyStatistic,
    pub looked_at: LookedAt,
    /// Whether the intervals of one answer hold or miss independently of each other; otherwise one of them counts.
    pub independent: bool,
    pub wanted: WantedCoverage,
    /// In how many groups a unit counts, where that is limited.
    pub max_groups_per_unit: Option<u32>,
    /// Whether rows with values outside of their bounds are counted: that is the last column then.
    pub count_clamped: bool,
}

/// What is paid.
#[derive(Clone, Copy)]
pub enum PaidWith {
    Laplace(&'static str),
    Gaussian(&'static str),
    /// With a δ, for groups of which nothing is declared.
    Threshold(&'static str),
}

impl PaidWith {
    pub fn price(self) -> Price {
        let amount = |text: &str| Amount::parse_exact(text).expect("it is an amount");
        match self {
            PaidWith::Laplace(epsilon) => Price::Epsilon(amount(epsilon)),
            PaidWith::Gaussian(mu) => Price::Gaussian(amount(mu)),
            PaidWith::Threshold(epsilon) => Price::Approximate { epsilon: amount(epsilon), delta: amount("1e-7") },
        }
    }

    pub fn describe(self) -> String {
        match self {
            PaidWith::Laplace(epsilon) => format!("ε = {epsilon}"),
            PaidWith::Gaussian(mu) => format!("μ = {mu}"),
            PaidWith::Threshold(epsilon) => format!("ε = {epsilon}, δ"),
        }
    }
}

/// Which number of the last column.
#[derive(Clone, Copy)]
pub enum LookedAt {
    Value,
    /// The sum of an average.
    Sum,
}

impl LookedAt {
    pub fn of(self, estimate: &Estimate) -> Option<&Estimate> {
        match self {
            LookedAt::Value => Some(estimate),
            LookedAt::Sum => estimate.sum.as_deref(),
        }
    }
}

/// How often intervals have to hold.
#[derive(Clone, Copy)]
pub enum WantedCoverage {
    /// In 94 to 97 %.
    Near,
    /// In 95 % or more, for a reason.
    AtLeast(&'static str),
}

const INTEGERS: WantedCoverage = WantedCoverage::AtLeast("noise of few whole numbers");
const RANKS: WantedCoverage = WantedCoverage::AtLeast("the reach in ranks holds for all data");
const TOGETHER: WantedCoverage = WantedCoverage::AtLeast("all groups hold together");

fn all(_: &SurveyRow) -> String {
    String::new()
}

fn region(row: &SurveyRow) -> String {
    row.region.to_string()
}

fn half(row: &SurveyRow) -> String {
    row.half.to_string()
}

fn town(row: &SurveyRow) -> String {
    row.town.to_string()
}

fn job(row: &SurveyRow) -> String {
    row.job.to_string()
}

fn decade(row: &SurveyRow) -> String {
    (row.age / 10 * 10).to_string()
}

fn month(row: &SurveyRow) -> String {
    row.month().to_string()
}

fn young_or_old(row: &SurveyRow) -> String {
    if row.age < 30 { "young" } else { "old" }.to_string()
}

impl CoverageForm {
    fn new(
        name: &'static str,
        select: &str,
        offer: PaidWith,
        group: GroupOf,
        statistic: SurveyStatistic,
    ) -> CoverageForm {
        CoverageForm {
            name,
            sql: format!("SELECT {select}"),
            offer,
            group,
            statistic,
            looked_at: LookedAt::Value,
            independent: true,
            wanted: WantedCoverage::Near,
            max_groups_per_unit: None,
            count_clamped: false,
        }
    }

    /// The question under a new key.
    pub fn request(&self) -> Fallible<Request> {
        let &CoverageForm { max_groups_per_unit, count_clamped, .. } = self;
        Ok(Request { max_groups_per_unit, count_clamped, ..request(&self.sql, self.offer.price())? })
    }

    fn wanting(self, wanted: WantedCoverage) -> CoverageForm {
        CoverageForm { wanted, ..self }
    }

    /// Its intervals share noise, or which of them are shown depends on all of it.
    fn dependent(self) -> CoverageForm {
        CoverageForm { independent: false, ..self }
    }
}

/// All forms.
pub fn forms() -> Vec<CoverageForm> {
    use PaidWith::{Gaussian, Laplace, Threshold};
    let mut forms = Vec::new();
    let mut add = |form: CoverageForm| forms.push(form);
    for offer in [Laplace("0.05"), Gaussian("0.05")] {
        add(CoverageForm::new("COUNT(*)", "COUNT(*) FROM survey", offer, all, of::count));
        add(CoverageForm::new("COUNT(x)", "COUNT(wage) FROM survey", offer, all, of::known_wages));
        add(CoverageForm::new("COUNT(DISTINCT unit)", "COUNT(DISTINCT person) FROM survey", offer, all, of::people));
        add(CoverageForm::new("COUNT(DISTINCT x)", "COUNT(DISTINCT age) FROM survey", offer, all, of::ages));
        add(CoverageForm::new("SUM", "SUM(wage) FROM survey", offer, all, of::sum));
        add(CoverageForm::new(
            "COUNT by group",
            "region, COUNT(*) FROM survey GROUP BY region",
            offer,
            region,
            of::count,
        ));
        add(CoverageForm::new("SUM by group", "region, SUM(wage) FROM survey GROUP BY region", offer, region, of::sum));
        let sql = "region, COUNT(DISTINCT person) FROM survey GROUP BY region";
        add(CoverageForm::new("COUNT(DISTINCT unit) by group", sql, offer, region, of::people));
        let sql = "FLOOR(age / 10) * 10 AS bin, COUNT(*) FROM survey GROUP BY bin";
        add(CoverageForm::new("histogram", sql, offer, decade, of::count));
        let sql = "COUNT(*) FILTER (WHERE age < 30) FROM survey";
        add(CoverageForm::new("FILTER", sql, offer, all, of::young));
    }
    let sql = "COUNT(*) FROM survey";
    add(CoverageForm::new("COUNT(*), little noise", sql, Laplace("3"), all, of::count).wanting(INTEGERS));
    for offer in [Laplace("1"), Gaussian("0.5")] {
        add(CoverageForm::new("AVG", "AVG(wage) FROM survey", offer, all, of::average));
        let sum = CoverageForm::new("sum of an AVG", "AVG(wage) FROM survey", offer, all, of::sum);
        add(CoverageForm { looked_at: LookedAt::Sum, ..sum });
        add(CoverageForm::new(
            "AVG by group",
            "region, AVG(wage) FROM survey GROUP BY region",
            offer,
            region,
            of::average,
        ));
        let sql = "AVG(wage > 2000) FROM survey";
        add(CoverageForm::new("AVG of a condition", sql, offer, all, of::share_of_high_wages));
        add(CoverageForm::new("ratio of sums", "SUM(wage) / SUM(hours) FROM survey", offer, all, of::wage_per_hour));
        let sql = "COUNT(*) * 1.0 / COUNT(DISTINCT person) FROM survey";
        add(CoverageForm::new("ratio of counts", sql, offer, all, of::rows_per_person));
        let sql = "region, AVG(wage) / (SELECT AVG(hours) FROM survey) AS r FROM survey GROUP BY region";
        add(CoverageForm::new("sub-query", sql, offer, region, |rows| of::average(rows) / mean_hours()).dependent());
        let sql = "half, COUNT(*) * 1.0 / SUM(COUNT(*)) OVER () AS share FROM survey GROUP BY half";
        add(CoverageForm::new("share of 2 groups", sql, offer, half, share).dependent());
        let sql = "region, COUNT(*) * 1.0 / SUM(COUNT(*)) OVER () AS share FROM survey GROUP BY region";
        add(CoverageForm::new("share of 4 groups", sql, offer, region, share).dependent());
        let sql = "town, COUNT(*) * 1.0 / SUM(COUNT(*)) OVER () AS share FROM survey GROUP BY town";
        add(CoverageForm::new("share of 40 groups", sql, offer, town, share).dependent());
        let sql = "'young' AS who, COUNT(*) AS n FROM survey WHERE age < 30 \
                   UNION ALL SELECT 'old', COUNT(*) FROM survey WHERE age >= 30";
        let noise = if matches!(offer, Laplace(_)) { Laplace("0.1") } else { Gaussian("0.1") };
        add(CoverageForm::new("UNION ALL", sql, noise, young_or_old, of::count));
    }
    for offer in [Laplace("2"), Gaussian("1")] {
        let group = "FROM survey GROUP BY region";
        let one = |name, function: &str, statistic| {
            let sql = format!("{function}(wage) FROM survey");
            CoverageForm::new(name, &sql, offer, all, statistic)
        };
        add(one("VARIANCE", "VARIANCE", of::variance));
        add(one("VAR_POP", "VAR_POP", of::population_variance));
        add(one("STDDEV", "STDDEV", of::deviation));
        add(one("STDDEV_POP", "STDDEV_POP", of::population_deviation));
        let sql = format!("region, VARIANCE(wage) {group}");
        add(CoverageForm::new("VARIANCE by group", &sql, offer, region, of::variance));
    }
    for offer in [Laplace("8"), Gaussian("3")] {
        let two = |name, function: &str, statistic| {
            let sql = format!("{function}(wage, hours) FROM survey");
            CoverageForm::new(name, &sql, offer, all, statistic)
        };
        add(two("COVAR_SAMP", "COVAR_SAMP", of::covariance));
        add(two("COVAR_POP", "COVAR_POP", of::population_covariance));
        add(two("CORR", "CORR", of::correlation));
        add(two("REGR_SLOPE", "REGR_SLOPE", of::slope));
        add(two("REGR_INTERCEPT", "REGR_INTERCEPT", of::intercept));
        add(two("REGR_R2", "REGR_R2", of::correlation_squared));
    }
    for offer in [Laplace("0.1"), Gaussian("0.1")] {
        let sql = "REGR_COUNT(wage, hours) FROM survey";
        add(CoverageForm::new("REGR_COUNT", sql, offer, all, of::known_wages));
        let sql = "EXTRACT(MONTH FROM day) AS month, COUNT(*) FROM survey GROUP BY month";
        add(CoverageForm::new("COUNT by month", sql, offer, month, of::count));
        let sql = "region, COUNT(*) FROM survey GROUP BY ROLLUP (region)";
        add(CoverageForm::new("ROLLUP", sql, offer, region, of::count));
        let sql = "s.region, COUNT(*) FROM survey s JOIN diary d ON s.person = d.person GROUP BY s.region";
        add(CoverageForm::new("COUNT of a private JOIN", sql, offer, region, of::with_diary));
        let sum = CoverageForm::new("count of clamped rows", "SUM(wage) FROM survey", offer, all, of::none);
        add(CoverageForm { count_clamped: true, ..sum });
    }
    for offer in [Laplace("2"), Gaussian("1")] {
        let sql = "AVG(day - DATE '2020-01-01') FROM survey";
        add(CoverageForm::new("AVG of days", sql, offer, all, of::mean_day));
        let sql = "AVG(s.wage) FROM survey s JOIN diary d ON s.person = d.person";
        add(CoverageForm::new("AVG of a private JOIN", sql, offer, all, of::average_with_diary));
        let counts = "region, COUNT(*) AS n";
        let of_regions = |name, column: &str, statistic| {
            let sql = format!("{counts}, {column} FROM survey GROUP BY region");
            CoverageForm::new(name, &sql, offer, region, statistic).dependent()
        };
        add(of_regions("running total", "SUM(COUNT(*)) OVER (ORDER BY region)", so_far));
        add(of_regions("difference to the mean of groups", "COUNT(*) - AVG(COUNT(*)) OVER ()", beside_mean));
        let ranks = of_regions("RANK", "RANK() OVER (ORDER BY COUNT(*) DESC)", rank);
        add(ranks.wanting(TOGETHER));
    }
    let quantiles: [(&'static str, &str, SurveyStatistic); 5] = [
        ("MEDIAN", "MEDIAN(wage)", of::median),
        ("PERCENTILE_CONT", "PERCENTILE_CONT(0.1) WITHIN GROUP (ORDER BY wage)", of::first_decile),
        ("QUANTILE", "QUANTILE(wage, 0.75)", of::third_quartile),
        ("MIN", "MIN(wage)", of::least),
        ("MAX", "MAX(wage)", of::greatest),
    ];
    for (name, function, statistic) in quantiles {
        let sql = format!("{function} FROM survey");
        add(CoverageForm::new(name, &sql, Laplace("0.5"), all, statistic).wanting(RANKS));
    }
    let sql = "region, MEDIAN(wage) FROM survey GROUP BY region";
    add(CoverageForm::new("MEDIAN by group", sql, Laplace("2"), region, of::median).wanting(RANKS));
    for (offer, averages) in [(Laplace("0.2"), Laplace("4")), (Gaussian("0.1"), Gaussian("2"))] {
        let counts = "town, COUNT(*) AS n FROM survey GROUP BY town";
        let chosen = |name, sql: &str| CoverageForm::new(name, sql, offer, town, of::count).dependent();
        add(chosen("ORDER BY a count LIMIT 5, largest", &format!("{counts} ORDER BY n DESC LIMIT 5")));
        add(chosen("ORDER BY a count LIMIT 5, smallest", &format!("{counts} ORDER BY n LIMIT 5")));
        add(chosen("ORDER BY a count LIMIT 35", &format!("{counts} ORDER BY n DESC LIMIT 35")));
        add(chosen("HAVING a large count", &format!("{counts} HAVING COUNT(*) > 100")));
        add(chosen("HAVING a small count", &format!("{counts} HAVING COUNT(*) <= 80")));
        let both = format!("{counts} HAVING COUNT(*) >= 60 ORDER BY n DESC LIMIT 5");
        add(chosen("HAVING and ORDER BY a count", &both));
        let sql = "town, COUNT(*) AS n, SUM(wage) AS w FROM survey GROUP BY town ORDER BY n DESC LIMIT 5";
        add(CoverageForm { statistic: of::sum, ..chosen("not used by ORDER BY and LIMIT", sql) });
        let middle = chosen("OFFSET", &format!("{counts} ORDER BY n DESC LIMIT 5 OFFSET 5"));
        add(middle.wanting(TOGETHER));
        let average = |name, sql: &str| CoverageForm { offer: averages, statistic: of::average, ..chosen(name, sql) };
        let sql = "town, AVG(wage) AS w FROM survey GROUP BY town ORDER BY w";
        add(average("ORDER BY an AVG LIMIT 5, largest", &format!("{sql} DESC LIMIT 5")).wanting(TOGETHER));
        add(average("ORDER BY an AVG LIMIT 5, smallest", &format!("{sql} LIMIT 5")).wanting(TOGETHER));
    }
    let found = |name, sql: &str, statistic| CoverageForm::new(name, sql, Threshold("0.2"), job, statistic);
    add(found("COUNT of groups found", "job, COUNT(*) AS n FROM survey GROUP BY job", of::count));
    let sql = "job, COUNT(*) AS n, SUM(wage) FROM survey GROUP BY job";
    add(found("SUM of groups found", sql, of::sum));
    let sql = "job, COUNT(*) AS n FROM survey GROUP BY job ORDER BY n DESC LIMIT 4";
    add(found("groups found, ORDER BY a count LIMIT 4", sql, of::count).dependent());
    let sql = "job, COUNT(DISTINCT person) FROM survey GROUP BY job";
    let limited = found("units of groups found, one group a unit", sql, of::people);
    add(CoverageForm { max_groups_per_unit: Some(1), ..limited });
    let sql = "job, AVG(wage) FROM survey GROUP BY job";
    add(CoverageForm { offer: Threshold("2"), ..found("AVG of groups found", sql, of::average) });
    forms
}

/// The part of a group in all rows.
fn share(rows: &[&SurveyRow]) -> f64 {
    rows.len() as f64 / super::survey::rows().len() as f64
}

/// How many rows there are in each region.
fn regions() -> std::collections::BTreeMap<&'static str, f64> {
    let mut counts = std::collections::BTreeMap::new();
    for row in super::survey::rows() {
        *counts.entry(row.region).or_default() += 1.0;
    }
    counts
}

/// The rows of a region and of those before it.
fn so_far(rows: &[&SurveyRow]) -> f64 {
    regions().range(..=rows[0].region).map(|(_, count)| count).sum()
}

fn beside_mean(rows: &[&SurveyRow]) -> f64 {
    let regions = regions();
    rows.len() as f64 - regions.values().sum::<f64>() / regions.len() as f64
}

/// 1 and how many regions have more rows.
fn rank(rows: &[&SurveyRow]) -> f64 {
    1.0 + regions().values().filter(|count| **count > rows.len() as f64).count() as f64
}

fn mean_hours() -> f64 {
    let rows = super::survey::rows();
    rows.iter().map(|row| row.hours as f64).sum::<f64>() / rows.len() as f64
}
