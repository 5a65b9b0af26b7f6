//! Who may see what: all accounts, or one's own, with or without what stands above them.

use taximeter_ledger::AccountName;

/// Which accounts somebody may see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sight {
    /// All of them: owners, auditors, and whoever is at the machine.
    All,
    /// An analyst's own, and those below them.
    Own {
        /// The accounts.
        accounts: Vec<AccountName>,
        /// Whether the owner lets the analyst see what the accounts above have left.
        above: bool,
    },
}

impl Sight {
    /// Whether an account is one's own, or below one's own: its history may be seen, and it may be charged.
    pub fn owns(&self, name: &AccountName) -> bool {
        match self {
            Sight::All => true,
            Sight::Own { accounts, .. } => accounts.iter().any(|own| is_at_or_below(name, own)),
        }
    }

    /// Whether what an account has left may be seen.
    pub fn sees(&self, name: &AccountName) -> bool {
        match self {
            Sight::All => true,
            Sight::Own { accounts, above } => {
                self.owns(name) || (*above && accounts.iter().any(|own| is_at_or_below(own, name)))
            }
        }
    }
}

fn is_at_or_below(name: &AccountName, above: &AccountName) -> bool {
    name.path().any(|part| part == above.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_analyst_sees_its_own_accounts_and_those_above_only_if_it_may() {
        let name = |text: &str| AccountName::parse(text).unwrap();
        let own = |above| Sight::Own { accounts: vec![name("census/alice")], above };
        for (account, owns, sees, sees_with_above) in [
            ("census/alice", true, true, true),
            ("census/alice/thesis", true, true, true),
            ("census", false, false, true),
            ("census/bob", false, false, false),
            ("census/alice2", false, false, false),
            ("other", false, false, false),
        ] {
            let account = name(account);
            assert_eq!((own(false).owns(&account), own(true).owns(&account)), (owns, owns), "{account}");
            assert_eq!((own(false).sees(&account), own(true).sees(&account)), (sees, sees_with_above), "{account}");
            assert!(Sight::All.owns(&account) && Sight::All.sees(&account));
        }
    }
}
