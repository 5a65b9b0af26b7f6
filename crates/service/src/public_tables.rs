//! Public tables: list, register, replace and remove.

use std::path::Path;

use taximeter_gate::{Catalog, CsvForm, PublicTable};
use taximeter_ledger::AccountName;

use crate::caller::{Action, Caller};
use crate::{NewPublicTable, Problem, PublicTableDocument, PublicTableList, RemovedPublicTable};

/// All public tables.
pub fn list(catalog: &Catalog) -> Result<PublicTableList, taximeter_gate::Error> {
    Ok(PublicTableList(catalog.public_tables()?.iter().map(PublicTableDocument::from).collect()))
}

/// Registers a public table from a CSV file.
pub fn put(
    catalog: &Catalog,
    name: AccountName,
    file: &Path,
    form: &CsvForm,
    replace: bool,
) -> Result<PublicTableDocument, taximeter_gate::Error> {
    let table = PublicTable::from_csv(name, file, form)?;
    catalog.put_public_table(&table, replace)?;
    Ok(PublicTableDocument::from(&table))
}

impl Caller {
    /// All public tables. Everyone may see them, and questions join them by their columns.
    pub async fn public_tables(&self) -> Result<PublicTableList, Problem> {
        self.require(Action::SeeDatasets)?;
        self.blocking(|caller| Ok(list(caller.gate().catalog())?)).await
    }

    /// Registers a public table, or replaces one.
    pub async fn put_public_table(&self, new: NewPublicTable) -> Result<PublicTableDocument, Problem> {
        self.require(Action::ChangeDatasets)?;
        let put = move |caller: &Caller| {
            let NewPublicTable { public_table, upload, form, replace } = new;
            let upload = caller.service.uploads.take(&upload)?;
            let table = put(caller.gate().catalog(), public_table, &upload.path(), &form, replace);
            let table = table.map_err(|error| error.with_file_name(upload.display_name()))?;
            upload.registered();
            Ok(table)
        };
        self.blocking(put).await
    }

    /// Removes a public table. Questions that joined it keep their answers.
    pub async fn remove_public_table(&self, name: AccountName) -> Result<RemovedPublicTable, Problem> {
        self.require(Action::ChangeDatasets)?;
        let remove = move |caller: &Caller| {
            caller.gate().catalog().remove_public_table(&name)?;
            Ok(RemovedPublicTable { removed: name })
        };
        self.blocking(remove).await
    }
}
