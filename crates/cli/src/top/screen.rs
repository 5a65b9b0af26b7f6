//! What `taximeter top` shows, as lines of text.

use taximeter_service::{AccountDocument, RecordDocument, RefusalList};

use super::{SortedBy, Watch};
use crate::ledger::history;
use crate::ledger::show::{account_lines, is_unknown, reading, share, standing};
use crate::output::thousands;
use crate::table::TextTable;

/// The most refusals that are shown.
const REFUSALS: usize = 5;

/// The width of a gauge.
const GAUGE: usize = 20;

const KEYS: &str = "↑↓ choose  Enter open  Esc back  s sort  q end";

impl Watch {
    /// The lines of a screen of this size.
    pub(super) fn lines(&self, width: usize, height: usize) -> Vec<String> {
        let mut lines = match &self.opened {
            Some((name, records)) => match self.accounts.iter().find(|account| account.account == *name) {
                Some(account) => opened(account, records),
                None => vec![format!("{name} is not there any more; Esc goes back")],
            },
            None => self.overview(height),
        };
        if let Some(problem) = &self.problem {
            lines.insert(0, format!("cannot look: {problem}"));
        }
        lines.truncate(height);
        lines.into_iter().map(|line| line.chars().take(width).collect()).collect()
    }

    fn overview(&self, height: usize) -> Vec<String> {
        let sorted = match self.sorted_by {
            SortedBy::Name => "name",
            SortedBy::Left => "what is left",
            SortedBy::Reading => "reading",
            SortedBy::Charges => "charges",
            SortedBy::Rate => "charges a minute",
        };
        let mut table =
            TextTable::new(&["", "account", "gauge", ">left", ">reading", ">charges", ">a minute", "standing"]);
        for (at, account) in self.accounts.iter().enumerate() {
            table.row([
                if at == self.chosen { "▶".to_string() } else { String::new() },
                account.account.to_string(),
                gauge(account.left()),
                share(account.left()),
                reading(account.reading, is_unknown(account)),
                thousands(account.charges),
                format!("{:.1}", self.per_minute(account)),
                standing(account),
            ]);
        }
        let mut lines = vec![format!("{} accounts, by {sorted}   {KEYS}", self.accounts.len()), String::new()];
        let table = table.to_string();
        let mut rows = table.lines().map(str::to_string);
        lines.extend(rows.by_ref().take(2));
        let below = self.refusal_lines();
        // As much as fits, with the chosen one in view; the accounts come first.
        let space = height.saturating_sub(lines.len() + usize::from(self.problem.is_some())).max(1);
        let space = if space > 2 * below.len() { space - below.len() } else { space };
        lines.extend(rows.skip(self.chosen.saturating_sub(space - 1)).take(space));
        lines.extend(below);
        lines
    }

    /// The newest refusals, if there are any.
    fn refusal_lines(&self) -> Vec<String> {
        let Some(RefusalList { count, newest }) = self.refusals.as_ref().filter(|refusals| refusals.count > 0) else {
            return Vec::new();
        };
        let mut table = TextTable::new(&["refused", "account", "by", "why"]);
        for refused in newest.iter().take(REFUSALS) {
            let by = refused.by.as_ref().map_or("", |by| by.as_str());
            let time = refused.time.strftime("%Y-%m-%d %H:%M:%S").to_string();
            table.row([time, refused.account.to_string(), by.to_string(), refused.reason.clone()]);
        }
        let title = match count {
            1 => "1 refusal, in UTC:".to_string(),
            count => format!("{} refusals, the newest in UTC:", thousands(*count)),
        };
        [String::new(), title].into_iter().chain(table.to_string().lines().map(str::to_string)).collect()
    }
}

/// The meter of an account, and its newest records.
fn opened(account: &AccountDocument, records: &[RecordDocument]) -> Vec<String> {
    let mut lines = vec![format!("{}  {}", account.account, KEYS), String::new()];
    lines.push(format!("{}  {} left", gauge(account.left()), share(account.left())));
    lines.push(String::new());
    lines.extend(account_lines(account).to_string().lines().map(str::to_string));
    lines.push(String::new());
    lines.extend(history::table(&account.account, records).to_string().lines().map(str::to_string));
    lines
}

/// A bar of what is left; rounded down, so that an empty one may still have a little.
fn gauge(left: Option<f64>) -> String {
    let Some(left) = left else { return "no budget".to_string() };
    let full = ((left.clamp(0.0, 1.0) * GAUGE as f64) as usize).min(GAUGE);
    format!("{}{}", "█".repeat(full), "·".repeat(GAUGE - full))
}

#[cfg(test)]
mod tests {
    use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
    use taximeter_accounting::{Budget, Cost, FilterRule, FilterSpec, OdometerRule, OdometerSpec};
    use taximeter_ledger::{
        AccountName, AccountSpec, Charge, Key, Ledger, Location, Options, Privacy, RefusedCharge, Who,
    };
    use taximeter_service::{AccountList, Sight};

    use super::super::{Next, SortedBy, Watch};
    use super::*;

    /// Accounts of a ledger: a is charged most often, c has the highest reading, and b the least left.
    fn accounts() -> AccountList {
        let folder = tempfile::tempdir().unwrap();
        let options = Options { create: true, ..Options::default() };
        let ledger = Ledger::open(&Location::File(folder.path().join("a.db")), options).unwrap();
        let accounts = [("a", "9,1e-6", "0.01 0.01 0.01"), ("b", "0.2,1e-6", "0.1"), ("c", "9,1e-6", "0.3 0.3")];
        for (name, budget, costs) in accounts {
            let (name, budget) = (AccountName::parse(name).unwrap(), Budget::parse(budget).unwrap());
            let spec = AccountSpec {
                name: name.clone(),
                privacy: Privacy::default(),
                filter: Some(FilterSpec::new(FilterRule::default(), budget)),
                odometer: OdometerSpec::beside(OdometerRule::RenyiMixture, &budget),
            };
            ledger.open_account(spec).unwrap();
            for cost in costs.split(' ').map(|cost| Cost::parse_epsilon(cost).unwrap().cost) {
                let charge = Charge::new(Key::generate().unwrap(), vec![name.clone()], vec![cost]).unwrap();
                ledger.charge(charge).unwrap();
            }
        }
        AccountList::new(ledger.id(), &ledger.accounts(), &Sight::All)
    }

    fn press(watch: &mut Watch, code: KeyCode) -> Next {
        watch.press(KeyEvent::new(code, KeyModifiers::NONE))
    }

    fn names(watch: &Watch) -> String {
        watch.accounts.iter().map(|account| account.account.as_str()).collect()
    }

    #[test]
    fn accounts_are_sorted_chosen_and_opened_by_keys() {
        let mut watch = Watch::new(accounts());
        assert_eq!(names(&watch), "abc");
        for (sorted_by, order) in
            [(SortedBy::Left, "bca"), (SortedBy::Reading, "cba"), (SortedBy::Charges, "acb"), (SortedBy::Rate, "abc")]
        {
            assert_eq!(press(&mut watch, KeyCode::Char('s')), Next::Continue);
            assert_eq!((watch.sorted_by, names(&watch).as_str()), (sorted_by, order));
        }
        press(&mut watch, KeyCode::Char('s'));
        for _ in 0..5 {
            press(&mut watch, KeyCode::Down);
        }
        press(&mut watch, KeyCode::Up);
        assert!(watch.lines(200, 50).iter().any(|line| line.starts_with("▶  b")));
        press(&mut watch, KeyCode::Enter);
        let opened = watch.lines(200, 50).join("\n");
        assert!(opened.starts_with("b  ") && opened.contains("budget    (0.2, 1e-6)"), "{opened}");
        press(&mut watch, KeyCode::Esc);
        assert!(watch.lines(200, 50)[0].starts_with("3 accounts, by name"));
        assert_eq!(press(&mut watch, KeyCode::Char('q')), Next::End);
        assert_eq!(watch.press(KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL)), Next::End);
    }

    #[test]
    fn a_small_screen_shows_the_chosen_account_and_no_line_is_too_wide() {
        let mut watch = Watch::new(accounts());
        watch.problem = Some("the server is away".to_string());
        press(&mut watch, KeyCode::Down);
        press(&mut watch, KeyCode::Down);
        let lines = watch.lines(30, 6);
        assert_eq!((lines.len(), lines[0].as_str()), (6, "cannot look: the server is awa"));
        assert!(lines.iter().all(|line| line.chars().count() <= 30));
        assert!(lines.last().unwrap().starts_with("▶  c"), "{lines:?}");
    }

    #[test]
    fn refusals_that_a_server_remembers_stand_below_the_accounts() {
        let list = AccountList { refusals: Some(RefusalList { count: 0, newest: Vec::new() }), ..accounts() };
        assert_eq!(Watch::new(list.clone()).lines(200, 50).len(), 7);
        let refused = RefusedCharge {
            time: "2026-01-02T03:04:05.6Z".parse().unwrap(),
            account: AccountName::parse("b").unwrap(),
            reason: "the budget does not allow it".to_string(),
            by: Some(Who::parse("by", "alice").unwrap()),
        };
        let newest = vec![refused; 9];
        let watch = Watch::new(AccountList { refusals: Some(RefusalList { count: 1234, newest }), ..list });
        let lines = watch.lines(200, 50);
        let at = lines.iter().position(|line| line == "1,234 refusals, the newest in UTC:").unwrap();
        let shown: Vec<&str> = lines[at + 3..].iter().map(|line| line.split("  ").next().unwrap()).collect();
        assert_eq!(shown, ["2026-01-02 03:04:05"; REFUSALS], "{lines:?}");
        assert!(lines[at + 3].contains("alice") && lines[at + 3].ends_with("the budget does not allow it"));
        // On a small screen, the accounts stay.
        assert!(watch.lines(200, 8)[4..].iter().any(|line| line.starts_with("▶  a")));
    }

    #[test]
    fn a_gauge_never_shows_more_than_is_left() {
        for (left, full) in [(1.0, 20), (0.999, 19), (0.5, 10), (0.0, 0), (-1.0, 0)] {
            assert_eq!(gauge(Some(left)).matches('█').count(), full, "{left}");
        }
        assert_eq!(gauge(None), "no budget");
    }
}
