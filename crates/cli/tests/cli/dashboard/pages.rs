//! A sandbox on which something has happened, and all pages that tell of it, with what they look like when something is wrong.

use crate::sandbox::Sandbox;
use crate::visit::Visit;

/// A page, and how one gets there.
pub struct Page {
    /// For messages.
    pub name: &'static str,
    path: String,
    /// A field that is filled in there.
    fill: Option<(&'static str, &'static str)>,
    /// A button that is pressed there, and whether it leads to another page.
    press: Option<(&'static str, bool)>,
    /// A text that is there.
    shows: &'static str,
}

impl Page {
    fn at(name: &'static str, path: &str, shows: &'static str) -> Page {
        Page { name, path: path.to_string(), fill: None, press: None, shows }
    }

    fn filled(self, field: &'static str, text: &'static str) -> Page {
        Page { fill: Some((field, text)), ..self }
    }

    fn sent(self, button: &'static str) -> Page {
        Page { press: Some((button, true)), ..self }
    }

    fn unfolded(self, summary: &'static str) -> Page {
        Page { press: Some((summary, false)), ..self }
    }

    /// Shows it.
    #[track_caller]
    pub fn show(&self, visit: &Visit) {
        visit.go(&self.path);
        if let Some((field, text)) = self.fill {
            visit.fill(field, text);
        }
        match self.press {
            Some((button, true)) => visit.follow(button),
            Some((summary, false)) => visit.button(summary).click(),
            None => {}
        }
        visit.browser.wait_for_text(self.shows);
        // A chart is drawn once the journal is read.
        visit.browser.wait_until("the journal is read", |browser| browser.find_all("[data-again]").is_empty());
    }
}

/// A sandbox with accounts, data, answers, refusals and tokens, and its owner at the browser.
pub fn furnished() -> (Visit, Vec<Page>) {
    let sandbox = Sandbox::with_accounts();
    sandbox.add_people();
    sandbox.done(&["dataset", "add", "people", "--analyst", "alice", "--budget", "0.5,1e-6"]);
    let alice = ["--account", "census/alice", "--account", "people/alice", "--dataset", "people"];
    let alice = sandbox.token("alice", "analyst", &alice);
    let lost = sandbox.token("carol", "analyst", &["--account", "census/bob"]);
    sandbox.done(&["token", "revoke", &lost[4..20]]);
    let visit = Visit::new(sandbox);
    for at in 1..=30 {
        visit.charge_elsewhere(&alice, "census/alice", &format!("0.00{at}"), &format!("wave {at} of the survey"));
    }
    visit.sign_in(&visit.olga);
    visit.go("/audit");
    visit.follow("Verify");
    visit.go("/ask?dataset=people&question=SELECT+region,+COUNT(*),+AVG(age)+FROM+people+GROUP+BY+region&amount=0.3");
    visit.follow("Ask");
    let answer = visit.path();
    (visit, pages(&answer, &lost[4..20]))
}

fn pages(answer: &str, token: &str) -> Vec<Page> {
    const ALICE: &str = "/cost?account=census%2Falice&kind=epsilon&note=for+the+report&epsilon";
    const QUESTION: &str = "/ask?dataset=people&offer=epsilon&question";
    vec![
        Page::at("the door", "/sign-in", "Your token"),
        Page::at("a wrong token", "/sign-in", "not known").filled("token", "txm_wrong").sent("Sign in"),
        Page::at("a refused charge", &format!("{ALICE}=5"), "It was refused.").sent("Charge it"),
        Page::at("the overview", "/", "Recent refusals"),
        Page::at("some of the accounts", "/?starts=nobody", "No account's name starts like this."),
        Page::at("an account to open", "/", "Filter: the rule that decides").unfolded("Name, budget and rule"),
        Page::at("an account", "/accounts/census%2Falice", "wave 30 of the survey"),
        Page::at("an account with accounts below", "/accounts/census", "Accounts below"),
        Page::at("a filtered history", "/accounts/census%2Falice?note=wave+7&from=3#history", "records searched match"),
        Page::at("an account that nobody charged", "/accounts/census%2Fbob", "Nobody has charged it yet"),
        Page::at("no account", "/accounts/nobody", "nobody"),
        Page::at("a cost", "/cost", "Enter a cost to see its effect"),
        Page::at("a quote that fits", &format!("{ALICE}=0.001"), "It fits."),
        Page::at("a quote that does not fit", &format!("{ALICE}=3"), "It does not fit."),
        Page::at("a cost that is none", &format!("{ALICE}=much"), "much"),
        Page::at("a question", "/ask", "Understood as"),
        Page::at(
            "a question that is too dear",
            &format!("{QUESTION}=SELECT+COUNT(*)+FROM+people&amount=7"),
            "It does not fit.",
        ),
        Page::at("a refused question", &format!("{QUESTION}=SELECT+COUNT(*)+FROM+people&amount=7"), "It was refused.")
            .sent("Ask"),
        Page::at("a question that is none", &format!("{QUESTION}=SELECT+MAX(age)+FROM+people&amount=0.1"), "MAX"),
        Page::at(
            "a question on made-up rows",
            &format!("{QUESTION}=SELECT+region,+COUNT(*),+AVG(age)+FROM+people+GROUP+BY+region&amount=0.3"),
            "say nothing about the data",
        )
        .sent("Try on made-up rows"),
        Page::at("a study", "/plan", "Show the plan to see"),
        Page::at("a plan", "/plan", "How the budget of people is used").sent("Show the plan"),
        Page::at("a study that is none", "/plan?study=dataset+%3D", "cannot be read").sent("Show the plan"),
        Page::at("an answer", answer, "What was paid"),
        Page::at("the datasets", "/datasets", "Questions without an answer"),
        Page::at("a dataset", "/datasets/people", "Add an analyst"),
        Page::at("a file to register", "/register", "CSV file"),
        Page::at("a table to register", "/register/postgres", "URL of the database"),
        Page::at("the audit", "/audit", "The ledger is whole."),
        Page::at("the tokens", "/tokens", "Make a token"),
        Page::at("tokens that have ended", "/tokens", "revoked").unfolded("Tokens that have ended (1)"),
        Page::at("a token that is not made", "/tokens", "no account")
            .filled("principal", "dora")
            .sent("Make the token"),
        Page::at("a token that has ended", &format!("/tokens/{token}/revoke"), "It has ended already."),
        Page::at("nothing", "/nothing/here", "Go on"),
    ]
}
