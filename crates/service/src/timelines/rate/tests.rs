use super::super::tests::support::push;
use super::*;

/// A record of a made-up account: what happened, when, and what was left afterwards.
type Entry = (&'static str, &'static str, Option<f64>);

const OPEN: Entry = ("open", "2026-01-01T00:00:00Z", Some(1.0));

fn timeline(entries: &[Entry]) -> Timeline {
    let mut timeline = Timeline::default();
    for (at, (event, time, left)) in entries.iter().enumerate() {
        push(&mut timeline, at as u64, event, time, (Some(0.0), *left));
    }
    timeline
}

/// The rate at some time: since when, how much, and when it runs out. Shares are in 2⁻ⁿ, so that sums are exact.
#[track_caller]
fn check(what: &str, entries: &[Entry], now: &str, expected: Option<(&str, f64, Option<&str>)>) {
    let time = |text: &str| text.parse::<Timestamp>().unwrap();
    let rate = Rate::of(&timeline(entries), time(now));
    let seen = rate.map(|rate| (rate.since, rate.spent, rate.runs_out));
    let expected = expected.map(|(since, spent, runs_out)| (time(since), spent, runs_out.map(time)));
    assert_eq!(seen, expected, "{what}");
    if let Some(rate) = rate {
        let seconds = time(now).duration_since(rate.since).as_secs_f64();
        assert!((rate.per_second * seconds - rate.spent).abs() < 1e-12, "{what}: {rate:?}");
    }
}

#[test]
fn an_account_that_shows_no_pace_has_no_rate() {
    let now = "2026-01-10T12:00:00Z";
    check("nothing is known", &[], now, None);
    check("no charges", &[OPEN], now, None);
    check("one charge", &[OPEN, ("charge", "2026-01-10T00:00:00Z", Some(0.5))], now, None);
    let one_moment = ("charge", "2026-01-10T00:00:00Z");
    check(
        "all at the same instant",
        &[OPEN, (one_moment.0, one_moment.1, Some(0.75)), (one_moment.0, one_moment.1, Some(0.5))],
        now,
        None,
    );
    check(
        "no budget",
        &[
            ("open", "2026-01-01T00:00:00Z", None),
            ("charge", "2026-01-09T00:00:00Z", None),
            ("charge", "2026-01-10T00:00:00Z", None),
        ],
        now,
        None,
    );
    let first_minute =
        [OPEN, ("charge", "2026-01-10T11:59:01Z", Some(0.75)), ("charge", "2026-01-10T11:59:59Z", Some(0.5))];
    check("the first minute", &first_minute, now, None);
    check("closed without a charge", &[OPEN, ("close", "2026-01-02T00:00:00Z", Some(0.0))], now, None);
}

#[test]
fn a_young_account_is_counted_from_its_first_charge() {
    let charges =
        [OPEN, ("charge", "2026-01-08T00:00:00Z", Some(0.875)), ("charge", "2026-01-09T00:00:00Z", Some(0.75))];
    // A quarter in two days, and three quarters are left.
    let expected = ("2026-01-08T00:00:00Z", 0.25, Some("2026-01-16T00:00:00Z"));
    check("two days", &charges, "2026-01-10T00:00:00Z", Some(expected));
    let expected = ("2026-01-08T00:00:00Z", 0.25, Some("2026-01-20T00:00:00Z"));
    check("three days: it slows down", &charges, "2026-01-11T00:00:00Z", Some(expected));
    let expected = ("2026-01-08T00:00:00Z", 0.25, Some("2026-01-12T00:00:00Z"));
    check("in the moment of the second", &charges, "2026-01-09T00:00:00Z", Some(expected));
}

#[test]
fn an_old_account_is_counted_from_seven_days_ago() {
    let charges = [
        OPEN,
        ("charge", "2026-01-02T00:00:00Z", Some(0.5)),
        // The last moment that does not count, and the first that does.
        ("charge", "2026-01-12T23:59:59.999999999Z", Some(0.375)),
        ("charge", "2026-01-13T00:00:00Z", Some(0.3125)),
        ("charge", "2026-01-19T12:00:00Z", Some(0.25)),
    ];
    let expected = ("2026-01-13T00:00:00Z", 0.125, Some("2026-02-03T00:00:00Z"));
    check("seven days", &charges, "2026-01-20T00:00:00Z", Some(expected));
    // Up to an hour more is counted, together with the spending in it.
    let expected = ("2026-01-13T00:00:00Z", 0.125, Some("2026-02-03T02:59:57Z"));
    check("almost an hour later", &charges, "2026-01-20T00:59:59Z", Some(expected));
    let expected = ("2026-01-13T01:00:00Z", 0.0625, Some("2026-02-17T01:00:00Z"));
    check("an hour later", &charges, "2026-01-20T01:00:00Z", Some(expected));
    let expected = ("2026-02-01T00:00:00Z", 0.0, None);
    check("nothing was spent in the window", &charges, "2026-02-08T00:00:00Z", Some(expected));
}

#[test]
fn what_does_not_go_on_does_not_run_out() {
    const DAYS: [&str; 2] = ["2026-01-09T00:00:00Z", "2026-01-10T00:00:00Z"];
    let check = |what: &str, left: [f64; 2], end: Option<&'static str>, spent: f64| {
        let [first, second] = [0, 1].map(|at| ("charge", DAYS[at], Some(left[at])));
        let end = end.map(|event| (event, "2026-01-10T12:00:00Z", Some(0.0)));
        let entries: Vec<Entry> = [OPEN, first, second].into_iter().chain(end).collect();
        check(what, &entries, "2026-01-11T00:00:00Z", Some((DAYS[0], spent, None)));
    };
    check("nothing is left", [0.5, 0.0], None, 1.0);
    check("the charges were free", [1.0, 1.0], None, 0.0);
    check("it lasts for twenty years", [1.0, 1.0 - 1.0 / 4096.0], None, 1.0 / 4096.0);
    check("more is left than before the first", [1.5, 1.25], None, -0.25);
    for event in ["close", "halt", "restore"] {
        // A budget that was given up was not spent.
        check(event, [0.5, 0.25], Some(event), 0.75);
    }
}

#[test]
fn a_clock_that_goes_back_is_survived() {
    let ahead = [OPEN, ("charge", "2026-01-09T05:00:00Z", Some(0.75)), ("charge", "2026-01-09T02:00:00Z", Some(0.5))];
    check("all is still to come", &ahead, "2026-01-09T01:00:00Z", None);
    check("in the moment of the earliest", &ahead, "2026-01-09T02:00:00Z", None);
    let expected = ("2026-01-09T02:00:00Z", 0.25, Some("2026-01-09T08:00:00Z"));
    check("what is still to come does not count", &ahead, "2026-01-09T04:00:00Z", Some(expected));
    let expected = ("2026-01-09T02:00:00Z", 0.5, Some("2026-01-09T10:00:00Z"));
    check("all has come", &ahead, "2026-01-09T06:00:00Z", Some(expected));
    let odd = [
        OPEN,
        ("charge", "1970-01-01T00:00:00Z", Some(0.875)),
        ("charge", "9999-12-30T00:00:00Z", Some(0.75)),
        ("charge", "-009999-01-02T01:59:59Z", Some(0.625)),
        ("charge", "2026-01-20T00:00:00Z", Some(0.5)),
    ];
    let expected = ("2026-01-14T00:00:00Z", 0.125, Some("2026-02-18T00:00:00Z"));
    check("far away times do not count", &odd, "2026-01-21T00:00:00Z", Some(expected));
    check("the end of time", &odd, "9999-12-30T22:00:00Z", Some(("9999-12-23T22:00:00Z", 0.125, None)));
}

#[test]
fn months_of_a_wrong_clock_are_forgotten() {
    let mut pace = Pace::default();
    let at = |seconds: i64| Timestamp::from_second(seconds).unwrap();
    let (wrong, right) = (4_000_000_000, 1_800_000_000);
    for hour in 0..1000 {
        pace.spend(at(wrong + hour * HOUR), 0.125);
    }
    for hour in 0..=168 {
        pace.spend(at(right + hour * HOUR), 0.25);
        pace.spend(at(right + hour * HOUR + 1), 0.25);
    }
    assert_eq!(pace.hours.len(), HOURS);
    let now = right + 168 * HOUR;
    assert_eq!(pace.spent_between(hour(at(right)), hour(at(now))), 169.0 * 0.5);
}
