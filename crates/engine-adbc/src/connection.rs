//! A session of a driver: statements, each within a time limit.

use std::fmt;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use adbc_core::error::{Error as DriverError, Status};
use adbc_core::options::{IngestMode, OptionDatabase, OptionStatement, OptionValue};
use adbc_core::{CancelHandle, Connection as _, Database as _, Driver as _, Optionable as _, Statement as _};
use adbc_driver_manager::{ManagedConnection, ManagedStatement};
use arrow_array::RecordBatchReader as _;

use crate::driver::AdbcDriver;
use crate::error::AdbcError;
use crate::new_rows::NewRows;
use crate::rows::{self, ArrowColumn, ArrowRows};

/// How a database is opened. Which of these are secret is said here, once.
#[derive(Clone, Default)]
pub struct AdbcOptions {
    options: Vec<(String, String)>,
    secrets: Vec<String>,
}

impl AdbcOptions {
    /// With an option of the driver.
    pub fn with(mut self, name: impl Into<String>, value: impl Into<String>) -> AdbcOptions {
        self.options.push((name.into(), value.into()));
        self
    }

    /// With an option whose value is shown nowhere, also not if the driver says it in an error.
    pub fn with_secret(mut self, name: impl Into<String>, value: impl Into<String>) -> AdbcOptions {
        let value = value.into();
        self.secrets.push(value.clone());
        self.with(name, value)
    }
}

impl fmt::Debug for AdbcOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.options.iter().map(|(name, _)| name)).finish()
    }
}

/// A session.
pub struct AdbcConnection {
    /// What is said about it.
    words: Arc<Words>,
    managed: ManagedConnection,
    /// Why nothing can be asked any more.
    lost: Option<AdbcError>,
}

/// The driver's name, and what it must not say.
struct Words {
    driver: String,
    secrets: Vec<String>,
}

/// What stops the call that is under way.
type Cancel = Arc<Mutex<Vec<Box<dyn CancelHandle>>>>;

/// How long a statement that was told to stop may take to do so.
const TIME_TO_STOP: Duration = Duration::from_secs(10);

/// It is told so again and again: a driver may not have begun with it at first.
const BETWEEN_CANCELS: Duration = Duration::from_millis(5);

impl AdbcConnection {
    /// Opens a database and a session of it, within this time.
    pub fn open(driver: &AdbcDriver, options: AdbcOptions, most: Duration) -> Result<AdbcConnection, AdbcError> {
        let AdbcOptions { options, secrets } = options;
        let words = Arc::new(Words { driver: driver.found().name.clone(), secrets });
        let mut managed = driver.managed.clone();
        let cancel = Cancel::default();
        let managed = within(&words, &cancel, most, move || {
            let option =
                |(name, value): (String, String)| (OptionDatabase::from(name.as_str()), OptionValue::String(value));
            let database = managed.new_database_with_opts(options.into_iter().map(option))?;
            Ok(database.new_connection()?)
        })?;
        Ok(AdbcConnection { words, managed, lost: None })
    }

    /// Runs a statement and returns its rows, within this time.
    pub fn query(&mut self, sql: &str, most: Duration) -> Result<ArrowRows, AdbcError> {
        self.statement(most, sql.to_string(), |mut statement, sql| {
            statement.set_sql_query(sql)?;
            let batches = statement.execute()?;
            let columns = batches.schema().fields().iter().map(|field| ArrowColumn::new(field)).collect();
            let mut rows = Vec::new();
            for batch in batches {
                rows::read(&batch.map_err(|error| CallError::new(&error))?, &mut rows)
                    .map_err(|error| CallError::new(&error))?;
            }
            Ok(ArrowRows { columns, rows })
        })
    }

    /// Runs a statement that returns no rows, within this time.
    pub fn execute(&mut self, sql: &str, most: Duration) -> Result<(), AdbcError> {
        self.statement(most, sql.to_string(), |mut statement, sql| {
            statement.set_sql_query(sql)?;
            statement.execute_update()?;
            Ok(())
        })
    }

    /// Appends rows to a table that is there.
    pub fn append(&mut self, table: &str, rows: NewRows, most: Duration) -> Result<(), AdbcError> {
        self.statement(most, (table.to_string(), rows), |mut statement, (table, rows)| {
            statement.set_option(OptionStatement::TargetTable, table.into())?;
            statement.set_option(OptionStatement::IngestMode, IngestMode::Append.into())?;
            statement.bind(rows.batch().map_err(|error| CallError::new(&error))?)?;
            statement.execute_update()?;
            Ok(())
        })
    }

    fn statement<I: Send + 'static, T: Send + 'static>(
        &mut self,
        most: Duration,
        input: I,
        call: impl FnOnce(ManagedStatement, I) -> Result<T, CallError> + Send + 'static,
    ) -> Result<T, AdbcError> {
        if let Some(why) = &self.lost {
            return Err(why.clone());
        }
        let (mut managed, cancel) = (self.managed.clone(), Cancel::default());
        let handles = cancel.clone();
        let result = within(&self.words, &cancel, most, move || {
            let statement = managed.new_statement()?;
            let both = [statement.get_cancel_handle(), managed.get_cancel_handle()];
            handles.lock().unwrap_or_else(PoisonError::into_inner).extend(both);
            call(statement, input)
        });
        if let Err(error @ AdbcError::Lost { .. }) = &result {
            self.lost = Some(error.clone());
        }
        result
    }
}

/// What a call of the driver failed with.
struct CallError(String);

impl CallError {
    fn new(error: &dyn fmt::Display) -> CallError {
        CallError(error.to_string())
    }
}

impl From<DriverError> for CallError {
    fn from(error: DriverError) -> CallError {
        CallError(error.message)
    }
}

/// Makes a call in a thread of its own, and stops it when it is late. A call that cannot be stopped goes on there, and is waited for no
/// longer.
fn within<T: Send + 'static>(
    words: &Words,
    cancel: &Cancel,
    most: Duration,
    call: impl FnOnce() -> Result<T, CallError> + Send + 'static,
) -> Result<T, AdbcError> {
    let (done, result) = channel();
    let driver = || words.driver.clone();
    let started = thread::Builder::new().name("adbc".to_string()).spawn(move || {
        // No one may wait any longer.
        let _ = done.send(call());
    });
    started.map_err(|error| AdbcError::Failed {
        driver: driver(),
        message: format!("no thread can be started: {error}"),
    })?;
    let finish = |result: Result<T, CallError>| {
        result.map_err(|CallError(message)| AdbcError::Failed {
            driver: driver(),
            message: words.without_secrets(message),
        })
    };
    let late = || AdbcError::Late { driver: driver(), most: format!("{most:?}") };
    let crashed = || AdbcError::Failed { driver: driver(), message: "the call panicked".to_string() };
    match result.recv_timeout(most) {
        Ok(result) => return finish(result),
        Err(RecvTimeoutError::Disconnected) => return Err(crashed()),
        Err(RecvTimeoutError::Timeout) => {}
    }
    let until = Instant::now() + TIME_TO_STOP;
    let mut why = None;
    while Instant::now() < until {
        why = Some(stop(cancel));
        match result.recv_timeout(BETWEEN_CANCELS) {
            Ok(Ok(result)) => return Ok(result),
            Ok(Err(_)) => return Err(late()),
            Err(RecvTimeoutError::Disconnected) => return Err(crashed()),
            Err(RecvTimeoutError::Timeout) if matches!(why, Some(Stop::Impossible)) => break,
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
    let why = match why {
        Some(Stop::Impossible) => "the driver cannot cancel".to_string(),
        Some(Stop::Failed(message)) => words.without_secrets(message),
        _ => format!("it went on for {TIME_TO_STOP:?} after it was cancelled"),
    };
    Err(AdbcError::Lost { driver: driver(), most: format!("{most:?}"), why })
}

enum Stop {
    /// The driver accepted the request.
    Cancelled,
    /// Nothing is running yet.
    TooEarly,
    Impossible,
    Failed(String),
}

/// Cancels the statement, or else the whole session.
fn stop(cancel: &Cancel) -> Stop {
    let mut outcome = Stop::TooEarly;
    for handle in cancel.lock().unwrap_or_else(PoisonError::into_inner).iter() {
        match handle.try_cancel() {
            Ok(()) => return Stop::Cancelled,
            Err(error) if error.status == Status::NotImplemented => outcome = Stop::Impossible,
            Err(error) => outcome = Stop::Failed(error.message),
        }
    }
    outcome
}

impl Words {
    fn without_secrets(&self, mut message: String) -> String {
        for secret in self.secrets.iter().filter(|secret| !secret.is_empty()) {
            message = message.replace(secret.as_str(), "***");
        }
        message
    }
}
