//! Names and values for people, one pair a line.

/// Pairs of a name and a value. The values start in the same column.
#[derive(Default)]
pub struct KeyValues(Vec<(&'static str, String)>);

impl KeyValues {
    /// Adds a pair. A pair with an empty name continues the value above it.
    pub fn add(&mut self, name: &'static str, value: impl ToString) {
        self.0.push((name, value.to_string()));
    }
}

impl std::fmt::Display for KeyValues {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let width = self.0.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
        let lines = self.0.iter().map(|(name, value)| format!("{name:<width$}  {value}"));
        f.write_str(&lines.collect::<Vec<_>>().join("\n"))
    }
}
