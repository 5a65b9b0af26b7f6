//! Datasets and questions on this machine.

use std::path::PathBuf;

use taximeter_gate::{Catalog, Dataset, Prepared, Registered, Registration, Request, Rules};
use taximeter_ledger::{Account, AccountName, Key, Who};
use taximeter_service::{
    AccountDocument, CheckedDataset, DatasetDocument, DatasetList, Explanation, FailedQuestionList, NewAnalystDocument,
    QuestionOutcome, QuestionRequest, RegisteredDocument, Sight, TokenDocument, warning,
};

use super::Local;
use super::accounts::share;
use crate::gate::render::with_position;
use crate::office::Datasets;
use crate::output::{Failure, tell};
use crate::progress::Progress;

impl Datasets for Local {
    fn datasets(&self) -> Result<DatasetList, Failure> {
        let (catalog, reader) = self.look()?;
        let datasets = catalog.datasets()?;
        let document = |dataset| DatasetDocument::new(dataset, &datasets, reader.accounts(), &Sight::All, true);
        Ok(DatasetList(datasets.iter().map(document).collect()))
    }

    fn dataset(&self, name: &AccountName) -> Result<DatasetDocument, Failure> {
        let (catalog, reader) = self.look()?;
        document(&catalog, &catalog.dataset(name)?, reader.accounts())
    }

    fn check(&self, name: &AccountName) -> Result<CheckedDataset, Failure> {
        let (catalog, reader) = self.look()?;
        let dataset = catalog.dataset(name)?;
        let dataset = catalog.check(reader.account(&dataset.name)?)?;
        Ok(CheckedDataset(document(&catalog, &dataset, reader.accounts())?))
    }

    fn refresh(&self, name: &AccountName) -> Result<DatasetDocument, Failure> {
        let gate = self.gate()?;
        let Registered { dataset, not_dropped, .. } = gate.refresh(name)?;
        if let Some(why) = not_dropped {
            tell(&format!("warning: the gate's table of the version before is still there; drop it by hand: {why}"));
        }
        document(gate.catalog(), &dataset, &gate.ledger().accounts())
    }

    fn log(&self, most: u32) -> Result<FailedQuestionList, Failure> {
        let (catalog, _) = self.look()?;
        Ok(FailedQuestionList(catalog.failures(most)?))
    }

    fn register(&self, registration: &Registration) -> Result<RegisteredDocument, Failure> {
        // A ledger is made for the root of a tree only.
        let gate = self.open_or_make(registration.rules.is_some() && registration.name.parent().is_none())?;
        let progress = Progress::new("importing");
        let registered = gate.register(registration, &mut |done, all| progress.share(share(done, all)))?;
        let (name, ledger) = (&registration.name, gate.ledger());
        let warnings = registration.rules.as_ref().map_or(Vec::new(), |_| warning::about_budget(ledger, name));
        Ok(RegisteredDocument::new(&registered, &ledger.account(name)?, warnings))
    }

    fn add_analyst(&self, dataset: &AccountName, analyst: &str, rules: Rules) -> Result<NewAnalystDocument, Failure> {
        let gate = self.gate()?;
        let name = gate.add_analyst(dataset, analyst, rules)?;
        let account = AccountDocument::new(&gate.ledger().account(&name)?, None, &Sight::All);
        Ok(NewAnalystDocument {
            dataset: dataset.clone(),
            account,
            warnings: warning::about_budget(gate.ledger(), &name),
        })
    }

    fn payer(&self, dataset: &AccountName) -> Result<AccountName, Failure> {
        Ok(dataset.clone())
    }

    fn own_token(&self) -> Result<Option<TokenDocument>, Failure> {
        Ok(None)
    }

    fn ask(&self, question: &QuestionRequest, by: Option<&Who>, key: &Key) -> Result<QuestionOutcome, Failure> {
        let gate = self.gate()?;
        let outcome = gate.ask(&request(question, by, key)).map_err(|error| match error.is_unknown_outcome() {
            // Whoever does not know what came of a charge needs its key to find out.
            true => Failure::Other(format!("{error}: --key {key}")),
            false => with_position(&question.question, error.into()),
        })?;
        Ok(QuestionOutcome::new(outcome, &Sight::All)?)
    }

    fn explain(&self, question: &QuestionRequest) -> Result<Explanation, Failure> {
        let (catalog, reader) = self.look()?;
        let prepared = Prepared::new(&catalog, &request(question, None, &Key::generate()?))
            .map_err(|error| with_position(&question.question, error.into()))?;
        let quote = reader.quote(prepared.charge())?;
        Ok(Explanation::new(&prepared, quote, &Sight::All))
    }

    fn typed_lines(&self) -> Result<PathBuf, Failure> {
        Ok(self.folder().join("history.txt"))
    }
}

fn request(question: &QuestionRequest, by: Option<&Who>, key: &Key) -> Request {
    let QuestionRequest { dataset, question, price, clamp, account, reuse } = question.clone();
    let (by, principal, key) = (by.cloned(), None, key.clone());
    Request { dataset, question, price, clamp, account, by, principal, key, reuse }
}

fn document(catalog: &Catalog, dataset: &Dataset, accounts: &[Account]) -> Result<DatasetDocument, Failure> {
    Ok(DatasetDocument::new(dataset, &catalog.datasets()?, accounts, &Sight::All, true))
}
