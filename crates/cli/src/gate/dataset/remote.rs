//! A table of a server that a driver speaks to.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use taximeter_gate::{Data, RemoteService, RemoteTable};

use super::driver::DriverArgs;
use crate::output::{Failure, usage};

/// A cluster or a warehouse.
#[derive(Args)]
#[command(
    next_help_heading = "A cluster or a warehouse",
    after_help = "The user and the password or token come from --credentials, or else from the variables TAXIMETER_ADBC_USERNAME, \
                  TAXIMETER_ADBC_PASSWORD and TAXIMETER_ADBC_TOKEN; they are read at every connection and stored nowhere."
)]
pub struct RemoteArgs {
    /// Leave the data in a table of this kind of server: flightsql (a cluster such as Sail), snowflake, bigquery or databricks
    #[arg(long, value_name = "NAME", requires_all = ["uri", "table"], conflicts_with_all = ["file", "postgres", "parquet", "analyst"])]
    pub adbc: Option<ServiceName>,
    /// The address of the server, such as grpc+tls://cluster:32010, without user and password
    #[arg(long, value_name = "URI", requires = "adbc")]
    uri: Option<String>,
    /// A file that only its owner can read, with secret options of the driver, such as password = "…" [default: the environment]
    #[arg(long, value_name = "FILE", requires = "adbc")]
    credentials: Option<PathBuf>,
}

/// What is at the other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ServiceName {
    /// A cluster that speaks the SQL of Spark, such as Sail
    Flightsql,
    /// Snowflake; its SQL is not tested
    Snowflake,
    /// BigQuery; its SQL is not tested
    Bigquery,
    /// Databricks; its SQL is that of Spark
    Databricks,
}

impl RemoteArgs {
    /// The table, read by the driver of its server unless another one is named.
    pub fn data(&self, service: ServiceName, table: &str, driver: &DriverArgs) -> Result<Data, Failure> {
        let service = match service {
            ServiceName::Flightsql => RemoteService::Flightsql,
            ServiceName::Snowflake => RemoteService::Snowflake,
            ServiceName::Bigquery => RemoteService::Bigquery,
            ServiceName::Databricks => RemoteService::Databricks,
        };
        let Some(uri) = self.uri.clone() else {
            return Err(usage("--adbc needs the address of the server; give --uri URI"));
        };
        let driver = match driver.is_given() {
            true => driver.choice(),
            false => service.driver(),
        };
        // The gate may be asked from another folder later.
        let credentials = self.credentials.as_ref().map(std::path::absolute).transpose();
        let credentials = credentials.map_err(|error| usage(format!("--credentials: {error}")))?;
        let table = RemoteTable { service, uri, table: table.to_string(), credentials };
        Ok(Data::Remote { table, driver })
    }
}
