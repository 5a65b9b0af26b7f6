//! Where data are that a driver of ADBC reads: what is written down about them. A program without drivers reads it too, and says so.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::schema::Bounds;
use crate::sql::Dialect;

/// A driver as its owner named it: by a name, or by the path of its library.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DriverChoice {
    /// The name, or a path.
    pub driver: String,
    /// The library's entry point, if it is not the usual one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry: Option<String>,
}

impl Default for DriverChoice {
    /// DuckDB, wherever it is found.
    fn default() -> DriverChoice {
        DriverChoice { driver: "duckdb".to_string(), entry: None }
    }
}

/// Data that a driver reads.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AdbcSource {
    pub(crate) driver: DriverChoice,
    pub(crate) data: AdbcData,
}

/// Where they are.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) enum AdbcData {
    /// Parquet files of the owner.
    Lake {
        /// What the owner named: a file, a folder or a pattern.
        pattern: String,
        /// The files that it named when they were registered.
        files: Vec<LakeFile>,
        /// The file of the gate's own with the rows that are kept of every unit; nothing if the owner's files are asked as they are.
        kept: Option<PathBuf>,
        /// The columns of the files without a value outside of what is declared.
        #[serde(default, skip_serializing_if = "ColumnsWithin::is_empty")]
        within: ColumnsWithin,
    },
    /// A file of DuckDB in the gate's folder.
    Own { file: PathBuf },
    /// A table of a server.
    Remote(RemoteTable),
}

/// Columns without a value outside of what is declared.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct ColumnsWithin {
    /// Those without a value outside of their bounds, and these bounds.
    pub(crate) bounds: BTreeMap<String, Bounds>,
    /// Those of text whose values are all categories, and these categories.
    pub(crate) categories: BTreeMap<String, Vec<String>>,
}

impl ColumnsWithin {
    pub(crate) fn is_empty(&self) -> bool {
        self.bounds.is_empty() && self.categories.is_empty()
    }
}

/// What is at the other end of a driver, and so which SQL it is asked in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RemoteService {
    /// Flight SQL, in front of a cluster that speaks the SQL of Spark, such as Sail.
    Flightsql,
    /// Snowflake.
    Snowflake,
    /// BigQuery.
    Bigquery,
    /// Databricks.
    Databricks,
}

impl RemoteService {
    /// The name of it, and of its driver.
    pub fn name(self) -> &'static str {
        match self {
            RemoteService::Flightsql => "flightsql",
            RemoteService::Snowflake => "snowflake",
            RemoteService::Bigquery => "bigquery",
            RemoteService::Databricks => "databricks",
        }
    }

    /// The driver that speaks to it, unless the owner names another one.
    pub fn driver(self) -> DriverChoice {
        DriverChoice { driver: self.name().to_string(), entry: None }
    }

    pub(crate) fn dialect(self) -> Dialect {
        match self {
            RemoteService::Flightsql | RemoteService::Databricks => Dialect::Spark,
            RemoteService::Snowflake => Dialect::Snowflake,
            RemoteService::Bigquery => Dialect::BigQuery,
        }
    }
}

/// A table of a server, without what is secret about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RemoteTable {
    /// What is there.
    pub service: RemoteService,
    /// Where it is, such as `grpc+tls://cluster:32010`.
    pub uri: String,
    /// The table, with or without what it is in: `visits` or `lake.visits`.
    pub table: String,
    /// A file with options of the driver that are secret; without it, the environment has them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credentials: Option<PathBuf>,
}

impl RemoteTable {
    /// The table as SQL writes it. In the SQL of Spark, `parquet.` and `delta.` stand before a path, whatever dots are in it.
    pub(crate) fn quoted(&self) -> String {
        let dialect = self.service.dialect();
        let parts: Vec<&str> = match self.table.split_once('.') {
            Some((form @ ("parquet" | "delta"), path)) if dialect == Dialect::Spark => vec![form, path],
            _ => self.table.split('.').collect(),
        };
        parts.into_iter().map(|part| dialect.grammar().name(part)).collect::<Vec<_>>().join(".")
    }

    /// Whether it names a table, and nothing that is secret.
    pub(crate) fn check(&self) -> Result<(), Error> {
        if self
            .uri
            .split_once("://")
            .is_some_and(|(_, rest)| rest.split('/').next().is_some_and(|host| host.contains('@')))
        {
            let why = "it is stored and shown, so it must not contain a user or a password; put them into a file or the environment";
            return Err(Error::input("uri", format!("the address of the server: {why}")));
        }
        let is_path = self.table.starts_with("parquet.") || self.table.starts_with("delta.");
        if !is_path && self.table.split('.').any(|part| part.is_empty()) || self.table.chars().any(char::is_control) {
            return Err(Error::value(
                "table",
                format_args!("{:?}", self.table),
                "name a table, such as visits or lake.visits",
            ));
        }
        Ok(())
    }
}

/// A file as it was when it was registered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LakeFile {
    pub(crate) path: PathBuf,
    pub(crate) bytes: u64,
    /// Nanoseconds since 1970-01-01.
    pub(crate) modified: i64,
    /// When anything about it was changed last, which no program can set, in the same unit; nothing where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) touched: Option<i64>,
}

impl AdbcSource {
    /// The gate's own file, if the data are in one.
    pub(crate) fn own_file(&self) -> Option<&Path> {
        match &self.data {
            AdbcData::Lake { kept, .. } => kept.as_deref(),
            AdbcData::Own { file } => Some(file),
            AdbcData::Remote(_) => None,
        }
    }

    /// How SQL is written there, and the table to ask.
    pub(crate) fn address(&self) -> (Dialect, String) {
        match &self.data {
            AdbcData::Lake { .. } | AdbcData::Own { .. } => (Dialect::DuckDb, super::adbc::VIEW.to_string()),
            AdbcData::Remote(table) => (table.service.dialect(), table.quoted()),
        }
    }
}

impl fmt::Debug for AdbcSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.data {
            AdbcData::Lake { pattern, files, kept, .. } => {
                let plural = if files.len() == 1 { "" } else { "s" };
                write!(f, "{pattern} ({} Parquet file{plural})", files.len())?;
                match kept {
                    None => Ok(()),
                    Some(kept) => write!(f, ", with the rows that count in {}", kept.display()),
                }
            }
            AdbcData::Own { file } => write!(f, "{} (DuckDB)", file.display()),
            AdbcData::Remote(RemoteTable { service, uri, table, .. }) => {
                write!(f, "{table} of {uri} ({})", service.name())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(service: RemoteService, uri: &str, table: &str) -> RemoteTable {
        RemoteTable { service, uri: uri.to_string(), table: table.to_string(), credentials: None }
    }

    #[test]
    fn a_table_is_named_in_parts_and_a_path_is_one_of_them() {
        for (service, name, quoted) in [
            (RemoteService::Flightsql, "visits", "`visits`"),
            (RemoteService::Databricks, "lake.main.visits", "`lake`.`main`.`visits`"),
            (RemoteService::Flightsql, "parquet.s3://bucket/v1.2/", "`parquet`.`s3://bucket/v1.2/`"),
            (RemoteService::Flightsql, "visits` --", "`visits`` --`"),
            (RemoteService::Snowflake, "LAKE.VISITS", "\"LAKE\".\"VISITS\""),
            (RemoteService::Bigquery, "project.lake.visits", "`project`.`lake`.`visits`"),
        ] {
            let table = table(service, "grpc://cluster:32010", name);
            assert_eq!((table.quoted().as_str(), table.check().is_ok()), (quoted, true), "{name}");
        }
        for name in ["", ".visits", "lake..visits", "visits\n"] {
            let error = table(RemoteService::Flightsql, "grpc://cluster:32010", name).check().unwrap_err();
            assert!(error.to_string().contains("name a table"), "{name}: {error}");
        }
    }

    #[test]
    fn an_address_names_no_user() {
        let error =
            table(RemoteService::Flightsql, "grpc://reader:s3cret@cluster:32010/x", "visits").check().unwrap_err();
        assert!(
            error.to_string().contains("must not contain a user or a password")
                && !error.to_string().contains("s3cret"),
            "{error}"
        );
        assert!(table(RemoteService::Flightsql, "grpc://cluster/a@b", "visits").check().is_ok());
    }
}
