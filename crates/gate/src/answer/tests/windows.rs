//! Windows over noisy answers: the same rows, orders and frames as SQL has, and intervals that hold.

use super::*;

/// The groups of `region` and `ward`, and how many people are in each: some as many as others.
const SIZES: [(&str, i64, i64); 6] =
    [("north", 1, 30), ("north", 11, 10), ("south", 1, 20), ("south", 11, 20), ("west", 1, 60), ("west", 11, 5)];

fn rows() -> Vec<ExactRow> {
    let row = |(region, ward, people): (&str, i64, i64)| ExactRow {
        keys: vec![Value::Text(region.to_string()), Value::Integer(ward)],
        measures: vec![people],
    };
    SIZES.map(row).to_vec()
}

/// What SQLite makes of the exact numbers.
fn in_sqlite(window: &str) -> Vec<Option<f64>> {
    let connection = rusqlite::Connection::open_in_memory().unwrap();
    connection.execute("CREATE TABLE groups (region TEXT, ward INTEGER, n INTEGER)", []).unwrap();
    for (region, ward, people) in SIZES {
        connection.execute("INSERT INTO groups VALUES (?1, ?2, ?3)", (region, ward, people)).unwrap();
    }
    let sql = format!("SELECT {} FROM groups ORDER BY rowid", window.replace("COUNT(*)", "n"));
    let mut statement = connection.prepare(&sql).unwrap_or_else(|why| panic!("{sql}: {why}"));
    let values = statement.query_map([], |row| row.get::<_, Option<f64>>(0)).unwrap();
    values.map(Result::unwrap).collect()
}

#[test]
fn windows_are_those_of_sql() {
    for window in [
        "SUM(COUNT(*)) OVER ()",
        "SUM(COUNT(*)) OVER (PARTITION BY region)",
        "SUM(COUNT(*)) OVER (ORDER BY ward)",
        "SUM(COUNT(*)) OVER (ORDER BY region, ward)",
        "SUM(COUNT(*)) OVER (PARTITION BY ward ORDER BY region DESC)",
        "SUM(COUNT(*)) OVER (ORDER BY COUNT(*) DESC)",
        "SUM(COUNT(*)) OVER (ORDER BY COUNT(*), region, ward ROWS UNBOUNDED PRECEDING)",
        "SUM(COUNT(*)) OVER (ORDER BY region, ward ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING)",
        "SUM(COUNT(*)) OVER (ORDER BY region, ward ROWS BETWEEN 2 FOLLOWING AND UNBOUNDED FOLLOWING)",
        "SUM(COUNT(*)) OVER (ORDER BY region, ward ROWS BETWEEN 3 FOLLOWING AND 2 FOLLOWING)",
        "SUM(COUNT(*)) OVER (ORDER BY region RANGE UNBOUNDED PRECEDING)",
        "AVG(COUNT(*)) OVER (PARTITION BY region)",
        "AVG(COUNT(*)) OVER (ORDER BY region, ward ROWS BETWEEN 2 PRECEDING AND CURRENT ROW)",
        "AVG(COUNT(*) * 2 + 1) OVER (PARTITION BY ward)",
        "MIN(COUNT(*)) OVER (PARTITION BY region)",
        "MAX(COUNT(*)) OVER (ORDER BY region, ward ROWS BETWEEN CURRENT ROW AND 2 FOLLOWING)",
        "FIRST_VALUE(COUNT(*)) OVER (PARTITION BY region ORDER BY ward DESC)",
        "LAST_VALUE(COUNT(*)) OVER (PARTITION BY region ORDER BY ward)",
        "LAST_VALUE(COUNT(*)) OVER (ORDER BY ward ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)",
        "LAG(COUNT(*)) OVER (ORDER BY region, ward)",
        "LAG(COUNT(*), 2, 0) OVER (PARTITION BY ward ORDER BY region)",
        "LEAD(COUNT(*)) OVER (PARTITION BY region ORDER BY ward)",
        "COUNT(*) - LEAD(COUNT(*), 2) OVER (ORDER BY region DESC, ward)",
        "RANK() OVER (ORDER BY COUNT(*) DESC)",
        "DENSE_RANK() OVER (ORDER BY COUNT(*))",
        "RANK() OVER (PARTITION BY ward ORDER BY COUNT(*))",
        "NTILE(4) OVER (ORDER BY COUNT(*) DESC, region, ward)",
        "NTILE(2) OVER (PARTITION BY ward ORDER BY region)",
        "NTILE(10) OVER (ORDER BY region, ward)",
        "NTILE(1) OVER (ORDER BY region, ward)",
        "PERCENT_RANK() OVER (ORDER BY COUNT(*))",
        "PERCENT_RANK() OVER (PARTITION BY region, ward ORDER BY COUNT(*))",
        "CUME_DIST() OVER (ORDER BY COUNT(*))",
        "CUME_DIST() OVER (PARTITION BY ward ORDER BY region)",
        "ROW_NUMBER() OVER (ORDER BY COUNT(*), region, ward)",
        "ROW_NUMBER() OVER (ORDER BY region DESC, ward DESC)",
        "DENSE_RANK() OVER (ORDER BY region)",
        "RANK() OVER (ORDER BY region DESC)",
        "100.0 * COUNT(*) / SUM(COUNT(*)) OVER (PARTITION BY region)",
        "SUM(COUNT(*)) OVER (ORDER BY region, ward) * 1.0 / SUM(COUNT(*)) OVER ()",
    ] {
        // As many counts of windows as of rows: SQLite has no COUNT(*) of an aggregate here.
        let paid = Paid::new(
            &format!("SELECT region, ward, {window} AS x, COUNT(*) AS n FROM people GROUP BY region, ward"),
            "200000",
        );
        let noisy = paid.answer(vec![rows()]).unwrap();
        for (row, expected) in noisy.rows.iter().zip(in_sqlite(window)) {
            let shown = estimate(&row[2]).value.as_ref().map(nearest);
            let same = match (shown, expected) {
                (Some(shown), Some(expected)) => (shown - expected).abs() < 1e-3 * expected.abs().max(1.0),
                (shown, expected) => shown == expected,
            };
            assert!(same, "{window}: {row:?}, and not {expected:?}");
        }
    }
}

/// Half steps, of which every other one is a whole number: 10 people in the first bin, 20 in the next one, and so on.
#[test]
fn windows_sort_bins_by_their_size() {
    for (window, expected) in [
        ("SUM(COUNT(*)) OVER (ORDER BY bin)", [10.0, 30.0, 60.0, 100.0, 150.0, 210.0, 280.0, 360.0, 450.0]),
        ("SUM(COUNT(*)) OVER (ORDER BY bin DESC)", [450.0, 440.0, 420.0, 390.0, 350.0, 300.0, 240.0, 170.0, 90.0]),
        ("SUM(COUNT(*)) OVER (PARTITION BY bin)", [10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0]),
        ("RANK() OVER (ORDER BY bin DESC)", [9.0, 8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0]),
    ] {
        let window = window.replace("bin", "FLOOR(debt / 0.5) * 0.5");
        let question =
            format!("SELECT FLOOR(debt / 0.5) * 0.5 AS bin, {window} AS x, COUNT(*) AS n FROM people GROUP BY bin");
        let exact = (-4..=4).map(|bin| counted(&[bin], &[10 * (bin + 5)])).collect();
        let noisy = Paid::new(&question, "200000").answer(vec![exact]).unwrap();
        let shown: Vec<f64> = noisy.rows.iter().map(|row| value(&row[1]).round()).collect();
        assert_eq!(shown, expected, "{window}");
    }
}

/// Numbers of several rows, with noise that is drawn once for all of them, and so also where sums overlap.
#[test]
fn intervals_of_windows_cover_the_truth() {
    let sizes = [("north", 300), ("south", 100), ("west", 600)];
    let size = |keys: &[Value]| sizes.iter().find(|(name, _)| keys[0] == Value::Text(name.to_string())).unwrap().1;
    let age = |count: usize| mean(&people(count), AGE);
    for (expression, row, truth) in [
        ("SUM(COUNT(*)) OVER (ORDER BY region)", 1, 400.0),
        ("SUM(COUNT(*)) OVER (ORDER BY region)", 2, 1000.0),
        ("COUNT(*) * 1.0 / SUM(COUNT(*)) OVER (ORDER BY region)", 2, 0.6),
        ("SUM(COUNT(*)) OVER (ORDER BY region) * 1.0 / SUM(COUNT(*)) OVER ()", 1, 0.4),
        ("SUM(COUNT(*)) OVER () - SUM(COUNT(*)) OVER (ORDER BY region) - COUNT(*)", 0, 400.0),
        ("COUNT(*) - LAG(COUNT(*)) OVER (ORDER BY region)", 1, -200.0),
        ("AVG(age) - LAG(AVG(age)) OVER (ORDER BY region)", 2, age(600) - age(100)),
        (
            "AVG(AVG(age)) OVER (ORDER BY region ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)",
            1,
            (age(300) + age(100)) / 2.0,
        ),
        ("MAX(COUNT(*)) OVER ()", 0, 600.0),
        ("LN(COUNT(*))", 1, 100f64.ln()),
        ("POWER(COUNT(*), 0.5) + EXP(COUNT(*) * 0.001)", 0, 300f64.sqrt() + 0.3f64.exp()),
    ] {
        let paid = Paid::new(&format!("SELECT region, {expression} AS x FROM people GROUP BY region"), "0.5");
        let missed = (0..250)
            .filter(|_| {
                let rows = paid.of_groups(|keys| people(size(keys))).rows;
                !covers(&rows[row][1], truth)
            })
            .count();
        assert!(missed <= MOST_MISSES, "{expression}: {missed} of 250 miss {truth}");
    }
}

/// All ranks hold together, also where the numbers are near each other; far apart, they are known.
#[test]
fn ranks_hold_together() {
    let question =
        "SELECT region, RANK() OVER (ORDER BY COUNT(*) DESC) AS r, ROW_NUMBER() OVER (ORDER BY COUNT(*) DESC) AS n,
                    DENSE_RANK() OVER (ORDER BY COUNT(*) DESC) AS d FROM people GROUP BY region";
    let answers = |epsilon: &str, sizes: [i64; 3]| {
        let paid = Paid::new(question, epsilon);
        let row = move |(name, size): (&str, i64)| in_region(name, &[size]);
        move || paid.answer(vec![["north", "south", "west"].into_iter().zip(sizes).map(row).collect()]).unwrap()
    };
    let near = answers("0.1", [100, 130, 101]);
    let missed = (0..250)
        .filter(|_| {
            let rows = near().rows;
            [3.0, 1.0, 2.0].iter().zip(&rows).any(|(rank, row)| row[1..].iter().any(|cell| !covers(cell, *rank)))
        })
        .count();
    assert!(missed <= MOST_MISSES, "{missed} of 250 miss");
    // Of equal numbers any order is possible.
    let equal = answers("5", [100, 100, 100])();
    assert!(equal.rows.iter().all(|row| covers(&row[1], 1.0) && covers(&row[2], 3.0)), "{equal:?}");
    let far = answers("5", [300, 100, 600])();
    let known: Vec<[f64; 2]> = far.rows.iter().map(|row| interval(&row[1])).collect();
    assert_eq!(known, [[2.0, 2.0], [3.0, 3.0], [1.0, 1.0]]);
    assert!(says(&far, "ranks are those of the noisy numbers"), "{far:?}");
}

#[test]
fn what_noise_sorts_has_no_interval_but_a_value() {
    let paid =
        Paid::new("SELECT region, SUM(COUNT(*)) OVER (ORDER BY COUNT(*) DESC) AS x FROM people GROUP BY region", "5");
    let noisy = paid.answer(vec![vec![in_region("north", &[300]), in_region("west", &[600])]]).unwrap();
    assert!(noisy.rows.iter().all(|row| estimate(&row[1]).interval.is_none() && estimate(&row[1]).value.is_some()));
    assert!(says(&noisy, "in the order of noisy numbers has no interval"), "{noisy:?}");
}
