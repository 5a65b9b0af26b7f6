//! What a session of the gate is for, and what its errors say.

use std::time::Duration;

use taximeter_postgres::{Connection, PostgresAddress, SessionError, SessionSetup};

use crate::error::Error;

/// Looking at the catalog, and asking questions.
pub(super) const ASK: SessionSetup = SessionSetup { settings: &[SETTINGS, ASKING], is_durable: false };

/// Making and dropping the gate's own tables.
pub(super) const KEEP: SessionSetup = SessionSetup { settings: &[SETTINGS, KEEPING], is_durable: false };

/// How long an answer about names and types may take. The server gives up earlier; this is for one that is gone without a word.
pub(super) const ANSWER: Duration = Duration::from_secs(90);

/// No operator means anything else because of the user's own settings: `row_security = off` makes a policy that would hide rows an
/// error. Times with a zone are compared with times in UTC. Plans are made for the literals of a question. Nothing waits forever for a
/// lock, or holds one for a client that is gone.
const SETTINGS: &str = "
    SET TimeZone = 'UTC';
    SET row_security = off;
    SET transform_null_equals = off;
    SET standard_conforming_strings = on;
    SET plan_cache_mode = force_custom_plan;
    SET lock_timeout = '30s';
    SET idle_in_transaction_session_timeout = '60s';
";

const ASKING: &str = "
    SET default_transaction_read_only = on;
    SET statement_timeout = '60s';
";

/// Sorting a large table takes its time. The server is to notice when its client is gone while it computes; older versions and some
/// systems do not have that setting.
const KEEPING: &str = "
    SET default_transaction_read_only = off;
    SET statement_timeout = 0;
    DO $$ BEGIN
        PERFORM set_config('client_connection_check_interval', '2s', false);
    EXCEPTION WHEN OTHERS THEN
        NULL;
    END $$;
";

/// Connects to a database, within this time.
pub(super) fn open(url: &str, setup: SessionSetup, most: Duration) -> Result<Connection, Error> {
    let address = PostgresAddress::parse(url)?;
    let place = address.to_string();
    let opened = Connection::new(address, setup).and_then(|mut connection| {
        connection.once(most, async |_| Ok(()))?;
        Ok(connection)
    });
    opened.map_err(|error| explain(&place, &error))
}

/// An error, with the place where it happened.
pub(super) fn explain(place: &impl std::fmt::Display, error: &SessionError) -> Error {
    let advice = match error {
        SessionError::Failed(_) => "",
        SessionError::Refused { code, .. } if !code.starts_with("28") && !code.starts_with("3D") => "",
        _ => "; does the server run, and are the user, password, host, port and database of the URL right?",
    };
    Error::storage(format!("the data at {place}: {error}{advice}"))
}
