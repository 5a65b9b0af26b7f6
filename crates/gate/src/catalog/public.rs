//! Public tables among the gate's records.

use std::sync::Arc;

use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, Row, TransactionBehavior, params};
use taximeter_ledger::AccountName;

use super::Catalog;
use crate::error::{Error, ErrorKind};
use crate::public::PublicTable;

impl Catalog {
    /// All public tables, by name.
    pub fn public_tables(&self) -> Result<Vec<PublicTable>, Error> {
        let connection = self.lock();
        let mut statement = connection.prepare_cached("SELECT name, content FROM public_tables ORDER BY name")?;
        statement.query_and_then([], read_table)?.collect()
    }

    /// A public table.
    pub fn public_table(&self, name: &AccountName) -> Result<PublicTable, Error> {
        let connection = self.lock();
        let mut statement = connection.prepare_cached("SELECT name, content FROM public_tables WHERE name = ?1")?;
        let mut tables = statement.query_and_then([name.as_str()], read_table)?;
        tables.next().unwrap_or_else(|| Err(ErrorKind::NoPublicTable(name.clone()).into()))
    }

    /// The public tables that a question may name: the others are not read.
    pub(crate) fn public_tables_in(&self, question: &str) -> Result<Vec<Arc<PublicTable>>, Error> {
        let connection = self.lock();
        let named = "SELECT name, content FROM public_tables WHERE instr(lower(?1), lower(name)) > 0 ORDER BY name";
        let mut statement = connection.prepare_cached(named)?;
        statement.query_and_then([question], |row| read_table(row).map(Arc::new))?.collect()
    }

    /// Writes a public table; one of this name is an error, unless it is replaced.
    pub fn put_public_table(&self, table: &PublicTable, replace: bool) -> Result<(), Error> {
        let name = table.name();
        let mut connection = self.lock();
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let exists = |sql: &str| transaction.query_row(sql, [name.as_str()], |row| row.get(0));
        if exists("SELECT EXISTS (SELECT 1 FROM datasets WHERE name = ?1 COLLATE NOCASE)")? {
            return Err(ErrorKind::NameTaken(name.clone(), "a dataset").into());
        }
        if !replace && exists("SELECT EXISTS (SELECT 1 FROM public_tables WHERE name = ?1)")? {
            return Err(ErrorKind::PublicTableExists(name.clone()).into());
        }
        let registered = Timestamp::now().to_string();
        transaction.execute(
            "INSERT OR REPLACE INTO public_tables VALUES (?1, ?2, ?3)",
            params![name.as_str(), table.content(), registered],
        )?;
        Ok(transaction.commit()?)
    }

    /// A dataset must not have the name of a public table: a question could mean both.
    pub(crate) fn refuse_public_name(&self, name: &AccountName) -> Result<(), Error> {
        refuse_public_name(&self.lock(), name)
    }

    /// Removes a public table. Questions that joined it keep their answers.
    pub fn remove_public_table(&self, name: &AccountName) -> Result<(), Error> {
        match self.lock().execute("DELETE FROM public_tables WHERE name = ?1", [name.as_str()])? {
            0 => Err(ErrorKind::NoPublicTable(name.clone()).into()),
            _ => Ok(()),
        }
    }
}

pub(super) fn refuse_public_name(connection: &Connection, name: &AccountName) -> Result<(), Error> {
    let found =
        connection.query_row("SELECT 1 FROM public_tables WHERE name = ?1", [name.as_str()], |_| Ok(())).optional()?;
    match found {
        None => Ok(()),
        Some(()) => Err(ErrorKind::NameTaken(name.clone(), "a public table").into()),
    }
}

fn read_table(row: &Row<'_>) -> Result<PublicTable, Error> {
    let (name, content): (String, String) = (row.get(0)?, row.get(1)?);
    PublicTable::read(AccountName::parse(&name)?, &content)
}
