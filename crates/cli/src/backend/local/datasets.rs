//! Datasets and questions on this machine.

use std::path::{Path, PathBuf};

use taximeter_gate::{CsvForm, DriverChoice, DummyAnswer, Prepared, Registered, Registration, Rules};
use taximeter_ledger::{AccountName, Key, Who};
use taximeter_service::{
    CheckedDataset, DatasetDocument, DatasetList, Explanation, FailedQuestionList, NewAnalystDocument,
    PublicTableDocument, PublicTableList, QuestionOutcome, QuestionRequest, RegisteredDocument, RemovedPublicTable,
    Sight, StudyPlan, StudyRequest, TokenDocument, datasets, plans, public_tables,
};

use super::Local;
use super::accounts::share;
use crate::backend::DatasetBackend;
use crate::gate::render::{in_study, with_position};
use crate::output::{Failure, tell};
use crate::progress::Progress;

impl DatasetBackend for Local {
    fn datasets(&self) -> Result<DatasetList, Failure> {
        let (catalog, reader) = self.look()?;
        let datasets = catalog.datasets()?;
        let document = |dataset| DatasetDocument::new(dataset, &datasets, reader.accounts(), &Sight::All, true);
        Ok(DatasetList(datasets.iter().map(document).collect()))
    }

    fn dataset(&self, name: &AccountName) -> Result<DatasetDocument, Failure> {
        let (catalog, reader) = self.look()?;
        Ok(datasets::describe(&catalog, &catalog.dataset(name)?, reader.accounts())?)
    }

    fn check(&self, name: &AccountName) -> Result<CheckedDataset, Failure> {
        let (catalog, reader) = self.look()?;
        let dataset = catalog.dataset(name)?;
        let dataset = catalog.check(reader.account(&dataset.name)?)?;
        Ok(CheckedDataset(datasets::describe(&catalog, &dataset, reader.accounts())?))
    }

    fn refresh(&self, name: &AccountName) -> Result<DatasetDocument, Failure> {
        let gate = self.gate()?;
        let Registered { dataset, not_dropped, .. } = gate.refresh(name)?;
        if let Some(why) = not_dropped {
            tell(&format!("warning: the gate's table of the version before is still there; drop it by hand: {why}"));
        }
        Ok(datasets::describe(gate.catalog(), &dataset, &gate.ledger().accounts())?)
    }

    fn move_to_duckdb(&self, name: &AccountName, driver: DriverChoice) -> Result<DatasetDocument, Failure> {
        let gate = self.gate()?;
        let Registered { dataset, .. } = gate.move_to_duckdb(name, driver)?;
        Ok(datasets::describe(gate.catalog(), &dataset, &gate.ledger().accounts())?)
    }

    fn log(&self, most: u32) -> Result<FailedQuestionList, Failure> {
        let (catalog, _) = self.look()?;
        Ok(FailedQuestionList(catalog.failures(most)?))
    }

    fn register(&self, registration: &Registration) -> Result<RegisteredDocument, Failure> {
        // A ledger is made for the root of a tree only.
        let gate = self.open_or_make(registration.rules.is_some() && registration.name.parent().is_none())?;
        let progress = Progress::new("importing");
        Ok(datasets::register(&gate, registration, &mut |done, all| progress.share(share(done, all)))?)
    }

    fn public_tables(&self) -> Result<PublicTableList, Failure> {
        Ok(public_tables::list(&self.look()?.0)?)
    }

    fn put_public_table(&self, name: &AccountName, file: &Path, replace: bool) -> Result<PublicTableDocument, Failure> {
        Ok(public_tables::put(&self.look()?.0, name.clone(), file, &CsvForm::default(), replace)?)
    }

    fn remove_public_table(&self, name: &AccountName) -> Result<RemovedPublicTable, Failure> {
        self.look()?.0.remove_public_table(name)?;
        Ok(RemovedPublicTable { removed: name.clone() })
    }

    fn add_analyst(&self, dataset: &AccountName, analyst: &str, rules: Rules) -> Result<NewAnalystDocument, Failure> {
        Ok(datasets::add_analyst(self.gate()?, dataset.clone(), analyst, rules)?)
    }

    fn payer(&self, dataset: &AccountName) -> Result<AccountName, Failure> {
        Ok(dataset.clone())
    }

    fn own_token(&self) -> Result<Option<TokenDocument>, Failure> {
        Ok(None)
    }

    fn ask(&self, question: &QuestionRequest, by: Option<&Who>, key: &Key) -> Result<QuestionOutcome, Failure> {
        let gate = self.gate()?;
        let outcome = gate.ask(&question.clone().for_gate(key.clone(), by.cloned(), None)).map_err(|error| {
            match error.is_unknown_outcome() {
                // The key tells later whether the charge was made.
                true => Failure::Other(format!("{error}: --key {key}")),
                false => with_position(&question.question, error.into()),
            }
        })?;
        Ok(QuestionOutcome::new(outcome, &Sight::All)?)
    }

    fn explain(&self, question: &QuestionRequest) -> Result<Explanation, Failure> {
        let (catalog, reader) = self.look()?;
        let prepared = Prepared::new(&catalog, &question.clone().for_gate(Key::generate()?, None, None))
            .map_err(|error| with_position(&question.question, error.into()))?;
        let quote = reader.quote(prepared.charge())?;
        Ok(Explanation::new(&prepared, quote, &Sight::All, true))
    }

    fn plan(&self, study: &StudyRequest) -> Result<StudyPlan, Failure> {
        let (catalog, reader) = self.look()?;
        plans::plan(&catalog, study, &|charges| reader.quote_sequence(charges))
            .map_err(|problem| in_study(study, problem))
    }

    fn ask_dummy(&self, question: &QuestionRequest, rows: u32) -> Result<DummyAnswer, Failure> {
        let (catalog, _) = self.look()?;
        DummyAnswer::new(&catalog, &question.clone().for_gate(Key::generate()?, None, None), rows)
            .map_err(|error| with_position(&question.question, error.into()))
    }

    fn typed_lines(&self) -> Result<PathBuf, Failure> {
        Ok(self.folder().join("history.txt"))
    }
}
