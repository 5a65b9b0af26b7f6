//! Whether a commit is on disk when it is acknowledged.

use std::sync::LazyLock;

use tokio_postgres::SimpleQueryRow;

/// Settings that decide it, the values that are good enough, and what is wrong with others.
const DURABLE: [(&str, &[&str], &str); 4] = [
    ("synchronous_commit", &["on", "remote_apply"], "a commit would be acknowledged before it is on disk"),
    ("fsync", &["on"], "a commit would not be synced to the disk"),
    ("full_page_writes", &["on"], "a page that a crash tears in two could not be repaired"),
    ("data_sync_retry", &["off"], "the server would go on after a failed sync, over what it lost"),
];

/// The values of those settings, as columns.
pub static DURABLE_COLUMNS: LazyLock<String> =
    LazyLock::new(|| DURABLE.map(|(setting, ..)| format!("current_setting('{setting}')")).join(", "));

/// Checks the settings, given as [`DURABLE_COLUMNS`] from a column on.
pub fn check_durable(row: &SimpleQueryRow, from: usize) -> Result<(), String> {
    for (at, (setting, accepted, why)) in DURABLE.iter().enumerate() {
        let value = row.get(from + at).unwrap_or("unknown");
        if !accepted.contains(&value) {
            let good = accepted.join(" or ");
            return Err(format!(
                "PostgreSQL has {setting} = {value}, so {why}; set {setting} = {good} in the server's configuration, or for this \
                 user, database or URL if that is where it comes from"
            ));
        }
    }
    Ok(())
}
