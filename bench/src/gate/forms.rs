//! Every form of question, with the bare aggregate of the same shape.

/// A question, and what the bare engine is asked in its place.
pub struct ComparedForm {
    /// The question, with the number that is compared in its first column. A blank stands for the dataset.
    pub question: &'static str,
    /// The bare statement, of which the column `m` is compared. A blank stands for the table.
    pub bare: &'static str,
    /// The bare statement where it is not the same in all engines: that of SQLite, which stores a date as a number of days.
    pub bare_sqlite: Option<&'static str>,
    /// A statement that clamps values and puts them on their grid by hand, for engines that do so while they read: what of the gate's time
    /// is that work.
    pub same_work: Option<&'static str>,
    /// The most that the question may take of the bare engine's time.
    pub limit: f64,
    /// Whether it is asked of the dataset that protects people, and not rows.
    pub of_units: bool,
    /// Whether it joins the diary, another dataset about the same people: where an engine can.
    pub joins_diary: bool,
    /// Whether both give the same number. A quantile is made of the statement's rows outside of it.
    pub is_compared: bool,
}

/// Where nothing is clamped.
const PLAIN: f64 = 1.2;
/// Where clamping is part of it.
const CLAMPED: f64 = 1.7;
/// Quantiles, beside the plain count of every value on the grid.
const QUANTILE: f64 = 1.5;

const fn form(limit: f64, question: &'static str, bare: &'static str) -> ComparedForm {
    ComparedForm {
        question,
        bare,
        bare_sqlite: None,
        same_work: None,
        limit,
        of_units: false,
        joins_diary: false,
        is_compared: true,
    }
}

/// The income as it is declared, in steps.
macro_rules! income {
    () => {
        "floor(((CASE WHEN income < 0e0 THEN 0e0 WHEN income > 2e5 THEN 2e5 ELSE income END) + 25e-2) / 5e-1)"
    };
}

const fn on_grid(question: &'static str, bare: &'static str, same_work: &'static str) -> ComparedForm {
    ComparedForm { same_work: Some(same_work), ..form(CLAMPED, question, bare) }
}

const fn quantile(question: &'static str, bare: &'static str, bare_sqlite: &'static str) -> ComparedForm {
    ComparedForm { bare_sqlite: Some(bare_sqlite), is_compared: false, ..form(QUANTILE, question, bare) }
}

pub const FORMS: [ComparedForm; 30] = [
    form(PLAIN, "SELECT COUNT(*) FROM _ WHERE age >= 65", "SELECT count(*) AS m FROM _ WHERE age >= 65"),
    form(
        PLAIN,
        "SELECT COUNT(*) FROM _ WHERE region = 'north' AND smoker = TRUE",
        "SELECT count(*) AS m FROM _ WHERE region = 'north' AND smoker = TRUE",
    ),
    form(PLAIN, "SELECT COUNT(*) FROM _ WHERE city LIKE '%7%'", "SELECT count(*) AS m FROM _ WHERE city LIKE '%7%'"),
    form(PLAIN, "SELECT COUNT(DISTINCT city) FROM _", "SELECT count(DISTINCT city) AS m FROM _"),
    form(CLAMPED, "SELECT SUM(visits) FROM _", "SELECT sum(visits) AS m FROM _"),
    on_grid(
        "SELECT SUM(income) FROM _ WHERE age >= 18",
        "SELECT sum(income) AS m FROM _ WHERE age >= 18",
        concat!("SELECT sum(", income!(), ") AS m FROM _ WHERE age >= 18"),
    ),
    on_grid(
        "SELECT AVG(income) FROM _",
        "SELECT avg(income) AS m FROM _",
        concat!("SELECT sum(", income!(), ") / count(income) AS m FROM _"),
    ),
    form(
        CLAMPED,
        "SELECT SUM(visits) FILTER (WHERE smoker = TRUE) FROM _",
        "SELECT sum(visits) FILTER (WHERE smoker = TRUE) AS m FROM _",
    ),
    form(
        CLAMPED,
        "SELECT SUM(CASE WHEN age >= 65 THEN visits ELSE 0 END) FROM _",
        "SELECT sum(CASE WHEN age >= 65 THEN visits ELSE 0 END) AS m FROM _",
    ),
    on_grid(
        "SELECT SUM(income - 100 * visits) FROM _",
        "SELECT sum(income - 100 * visits) AS m FROM _",
        concat!("SELECT sum(CAST(", income!(), " AS BIGINT) - 200 * visits) AS m FROM _"),
    ),
    form(
        CLAMPED,
        "SELECT VARIANCE(visits) FROM _",
        "SELECT (sum(visits * visits) - 1e0 * sum(visits) * sum(visits) / count(visits)) / (count(visits) - 1) AS m FROM _",
    ),
    form(
        CLAMPED,
        "SELECT REGR_SLOPE(visits, age) FROM _",
        "SELECT (1e0 * count(*) * sum(age * visits) - 1e0 * sum(age) * sum(visits)) / (1e0 * count(*) * sum(age * age) - 1e0 * sum(age) \
         * sum(age)) + 0 * sum(visits * visits) AS m FROM _ WHERE age IS NOT NULL AND visits IS NOT NULL",
    ),
    // The square of the correlation: SQLite has no square root here.
    ComparedForm {
        is_compared: false,
        ..form(
            CLAMPED,
            "SELECT CORR(visits, age) FROM _",
            "SELECT (1e0 * count(*) * sum(age * visits) - 1e0 * sum(age) * sum(visits)) * (1e0 * count(*) * sum(age * visits) - 1e0 * \
             sum(age) * sum(visits)) / ((1e0 * count(*) * sum(age * age) - 1e0 * sum(age) * sum(age)) * (1e0 * count(*) * sum(visits * \
             visits) - 1e0 * sum(visits) * sum(visits))) AS m FROM _ WHERE age IS NOT NULL AND visits IS NOT NULL",
        )
    },
    form(
        PLAIN,
        "SELECT COUNT(*), region FROM _ GROUP BY region",
        "SELECT count(*) AS m, region FROM _ GROUP BY region",
    ),
    on_grid(
        "SELECT AVG(income), region FROM _ GROUP BY region",
        "SELECT avg(income) AS m, region FROM _ GROUP BY region",
        concat!("SELECT sum(", income!(), ") / count(income) AS m, region FROM _ GROUP BY region"),
    ),
    form(
        PLAIN,
        "SELECT COUNT(*), region, smoker, age FROM _ GROUP BY region, smoker, age",
        "SELECT count(*) AS m, region, smoker, age FROM _ GROUP BY region, smoker, age",
    ),
    ComparedForm {
        bare_sqlite: Some("SELECT count(*) AS m, CAST(income / 10000 AS INTEGER) AS bin FROM _ GROUP BY bin"),
        same_work: Some(concat!(
            "SELECT count(*) AS m, floor(CAST(",
            income!(),
            " AS BIGINT) / 20000) AS bin FROM _ GROUP BY bin"
        )),
        ..form(
            CLAMPED,
            "SELECT COUNT(*), FLOOR(income / 10000) AS bin FROM _ GROUP BY bin",
            "SELECT count(*) AS m, floor(income / 10000) AS bin FROM _ GROUP BY bin",
        )
    },
    ComparedForm {
        bare_sqlite: Some(
            "SELECT count(*) AS m, strftime('%Y', day * 86400, 'unixepoch') AS year FROM _ GROUP BY year",
        ),
        ..form(
            CLAMPED,
            "SELECT COUNT(*), EXTRACT(YEAR FROM day) AS year FROM _ GROUP BY year",
            "SELECT count(*) AS m, extract(year FROM day) AS year FROM _ GROUP BY year",
        )
    },
    form(PLAIN, "SELECT COUNT(*), city FROM _ GROUP BY city", "SELECT count(*) AS m, city FROM _ GROUP BY city"),
    form(
        PLAIN,
        "SELECT COUNT(*), country FROM _ JOIN areas USING (region) GROUP BY country",
        "SELECT count(*) AS m, country FROM _ JOIN areas USING (region) GROUP BY country",
    ),
    form(
        PLAIN,
        "SELECT COUNT(*) FROM _ WHERE age < 18 UNION ALL SELECT COUNT(*) FROM _ WHERE age >= 65",
        "SELECT count(*) AS m FROM _ WHERE age < 18 UNION ALL SELECT count(*) AS m FROM _ WHERE age >= 65",
    ),
    on_grid(
        "SELECT COUNT(*) FROM _ WHERE income > (SELECT AVG(income) FROM _)",
        "SELECT count(*) AS m FROM _ WHERE income > (SELECT avg(income) FROM _)",
        concat!(
            "SELECT count(*) AS m FROM _ WHERE ",
            income!(),
            " > (SELECT sum(",
            income!(),
            ") / count(income) FROM _)"
        ),
    ),
    form(
        PLAIN,
        "SELECT COUNT(*) * 100.0 / SUM(COUNT(*)) OVER (), region FROM _ GROUP BY region",
        "SELECT count(*) * 100.0 / sum(count(*)) OVER () AS m, region FROM _ GROUP BY region",
    ),
    ComparedForm {
        same_work: Some(concat!("SELECT count(*) AS m, CAST(", income!(), " AS BIGINT) AS step FROM _ GROUP BY step")),
        ..quantile(
            "SELECT MEDIAN(income) FROM _",
            "SELECT count(*) AS m, floor(income * 2) AS step FROM _ GROUP BY step",
            "SELECT count(*) AS m, CAST(income * 2 AS INTEGER) AS step FROM _ GROUP BY step",
        )
    },
    quantile(
        "SELECT MEDIAN(visits), region FROM _ GROUP BY region",
        "SELECT count(*) AS m, region, visits FROM _ GROUP BY region, visits",
        "SELECT count(*) AS m, region, visits FROM _ GROUP BY region, visits",
    ),
    quantile(
        "SELECT MAX(visits) FROM _",
        "SELECT count(*) AS m, visits FROM _ GROUP BY visits",
        "SELECT count(*) AS m, visits FROM _ GROUP BY visits",
    ),
    ComparedForm {
        is_compared: false,
        ..form(PLAIN, "SELECT MODE(region) FROM _", "SELECT count(*) AS m, region FROM _ GROUP BY region")
    },
    ComparedForm {
        of_units: true,
        joins_diary: true,
        ..form(
            PLAIN,
            "SELECT COUNT(*) FROM _ p JOIN diary d ON p.person = d.person",
            "SELECT count(*) AS m FROM _ p JOIN diary d ON p.person = d.person",
        )
    },
    ComparedForm {
        of_units: true,
        ..form(PLAIN, "SELECT COUNT(DISTINCT person) FROM _", "SELECT count(DISTINCT person) AS m FROM _")
    },
    ComparedForm {
        of_units: true,
        ..form(
            PLAIN,
            "SELECT COUNT(DISTINCT person), region FROM _ GROUP BY region",
            "SELECT count(DISTINCT person) AS m, region FROM _ GROUP BY region",
        )
    },
];
