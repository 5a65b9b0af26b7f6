//! Datasets: register, list, show, check, and the owner's log.

use taximeter_gate::{BadRows, Catalog, CsvEngine, Data, Dataset, Gate, Registration, Rules};
use taximeter_ledger::{Account, AccountName};

use crate::accounts::limit_within;
use crate::caller::{Action, Caller};
use crate::databases;
use crate::documents::warning;
use crate::{
    AccountDocument, CheckedDataset, DatasetDocument, DatasetList, FailedQuestionList, NewAnalyst, NewAnalystDocument,
    NewData, NewDataset, Problem, RegisteredDocument, Sight,
};

/// A dataset with the balances of its accounts, for an owner or an auditor, who sees all of them.
pub fn describe(catalog: &Catalog, dataset: &Dataset, accounts: &[Account]) -> Result<DatasetDocument, Problem> {
    Ok(DatasetDocument::new(dataset, &catalog.datasets()?, accounts, &Sight::All, true))
}

/// Registers data, and reports progress as records done and in all.
pub fn register(
    gate: &Gate,
    registration: &Registration,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<RegisteredDocument, taximeter_gate::Error> {
    let registered = gate.register(registration, progress)?;
    let (name, ledger) = (&registration.name, gate.ledger());
    let warnings = registration.rules.as_ref().map_or(Vec::new(), |_| warning::about_budget(ledger, name));
    Ok(RegisteredDocument::new(&registered, &ledger.account(name)?, warnings))
}

/// Opens an analyst's account below that of a dataset.
pub fn add_analyst(
    gate: &Gate,
    dataset: AccountName,
    analyst: &str,
    rules: Rules,
) -> Result<NewAnalystDocument, Problem> {
    let (name, ledger) = (gate.add_analyst(&dataset, analyst, rules)?, gate.ledger());
    let account = AccountDocument::new(&ledger.account(&name)?, None, &Sight::All);
    Ok(NewAnalystDocument { dataset, account, warnings: warning::about_budget(ledger, &name) })
}

impl Caller {
    /// The datasets that the caller may see.
    pub async fn datasets(&self) -> Result<DatasetList, Problem> {
        self.require(Action::SeeDatasets)?;
        self.refresh().await?;
        let list = |caller: &Caller| {
            let (datasets, accounts) = (caller.gate().catalog().datasets()?, caller.ledger().accounts());
            let seen = datasets.iter().filter(|dataset| caller.sees_dataset(&dataset.name));
            let document =
                |dataset| DatasetDocument::new(dataset, &datasets, &accounts, caller.sight(), caller.is_owner());
            Ok(DatasetList(seen.map(document).collect()))
        };
        self.blocking(list).await
    }

    /// A dataset, without what the caller may not see.
    pub async fn dataset(&self, name: AccountName) -> Result<DatasetDocument, Problem> {
        self.require(Action::SeeDatasets)?;
        self.require_dataset(&name)?;
        self.refresh().await?;
        self.blocking(move |caller| caller.dataset_document(&caller.gate().catalog().dataset(&name)?)).await
    }

    fn dataset_document(&self, dataset: &Dataset) -> Result<DatasetDocument, Problem> {
        let (datasets, accounts) = (self.gate().catalog().datasets()?, self.ledger().accounts());
        Ok(DatasetDocument::new(dataset, &datasets, &accounts, self.sight(), self.is_owner()))
    }

    /// Checks that a dataset's data are unchanged and match its declaration.
    pub async fn check_dataset(&self, name: AccountName) -> Result<CheckedDataset, Problem> {
        self.require(Action::Audit)?;
        self.refresh().await?;
        let checked = move |caller: &Caller| {
            let catalog = caller.gate().catalog();
            catalog.dataset(&name)?;
            caller.dataset_document(&catalog.check(&caller.ledger().account(&name)?)?)
        };
        Ok(CheckedDataset(self.blocking(checked).await?))
    }

    /// Selects the rows of every unit again from the current PostgreSQL table.
    pub async fn refresh_dataset(&self, name: AccountName) -> Result<DatasetDocument, Problem> {
        self.require(Action::ChangeDatasets)?;
        self.refresh().await?;
        let refreshed = move |caller: &Caller| {
            caller.gate().catalog().dataset(&name)?;
            let refreshed = caller.gate().refresh(&name);
            let registered = refreshed.map_err(|error| databases::unreached(&caller.service, error))?;
            caller.dataset_document(&registered.dataset)
        };
        self.blocking(refreshed).await
    }

    /// Opens an analyst's account below that of a dataset.
    pub async fn add_analyst(&self, dataset: AccountName, new: NewAnalyst) -> Result<NewAnalystDocument, Problem> {
        self.require(Action::ChangeDatasets)?;
        self.refresh().await?;
        let added = move |caller: &Caller| {
            caller.gate().catalog().dataset(&dataset)?;
            let rules = new.rules(&caller.ledger().account(&dataset)?)?;
            add_analyst(caller.gate(), dataset, &new.analyst, rules)
        };
        self.blocking(added).await
    }

    /// Registers a dataset, or newer data of one.
    pub async fn register(&self, new: NewDataset) -> Result<RegisteredDocument, Problem> {
        self.require(Action::ChangeDatasets)?;
        self.refresh().await?;
        self.blocking(move |caller| caller.registered(&new)).await
    }

    fn registered(&self, new: &NewDataset) -> Result<RegisteredDocument, Problem> {
        let (rules, timeout) = (new.rules()?, new.timeout()?);
        let before = new.new_version.then(|| self.gate().catalog().dataset(&new.dataset)).transpose()?;
        let declaration = new.declaration(before.as_ref())?;
        let (data, upload) = match &new.data {
            NewData::Upload { id, skip_bad_rows, form } => {
                let bad_rows = if *skip_bad_rows { BadRows::Skip } else { BadRows::Refuse };
                let upload = self.service.uploads.take(id)?;
                let engine = CsvEngine::default();
                (Data::Csv { path: upload.path(), form: form.clone(), bad_rows, engine }, Some(upload))
            }
            NewData::Postgres { url, table } => {
                databases::require_listed(&self.service, url)?;
                (Data::Postgres { url: url.clone(), table: table.clone() }, None)
            }
        };
        let registration = Registration {
            name: new.dataset.clone(),
            declaration,
            data,
            rules,
            new_version: new.new_version,
            reuse: new.reuse.unwrap_or(before.as_ref().is_some_and(|before| before.reuse)),
            timeout: timeout.unwrap_or(before.as_ref().map_or(Registration::TIMEOUT, |before| before.timeout)),
            min_epsilon: new.min_epsilon.or(before.and_then(|before| before.min_epsilon)),
        };
        // The path of an upload is internal: its owner knows it by its id.
        let document = register(self.gate(), &registration, &mut |_, _| {}).map_err(|error| match &upload {
            Some(upload) => error.with_file_name(upload.display_name()).into(),
            None => databases::unreached(&self.service, error),
        })?;
        if let Some(upload) = upload {
            upload.registered();
        }
        Ok(document)
    }

    /// Why charged questions have no answer, newest first. It may depend on the data.
    pub async fn failed_questions(&self, limit: Option<u32>) -> Result<FailedQuestionList, Problem> {
        self.require(Action::ReadLog)?;
        let limit = limit_within(limit)?;
        let failures = self.blocking(move |caller| Ok(caller.gate().catalog().failures(limit)?)).await?;
        Ok(FailedQuestionList(failures))
    }
}
