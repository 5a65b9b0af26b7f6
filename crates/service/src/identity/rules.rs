//! The claims file: which claims of an issuer's tokens give which role, accounts and datasets.

use std::path::Path;

use serde::Deserialize;
use taximeter_ledger::AccountName;
use toml::{Table, Value};

use super::jwt::{Claims, Validity};
use crate::tokens::{check_principal, check_role, names};
use crate::{Code, NewToken, Problem, Role, TokenDocument};

/// The most bytes of a claims file.
const LARGEST: u64 = 1 << 20;

/// The most characters of the issuer's name.
const LONGEST_NAME: usize = 24;

/// What separates a name from the issuer's. No principal of this server's own tokens has it.
const SEPARATOR: char = '@';

/// The placeholder for the name in a list of accounts or datasets.
const NAME: &str = "{name}";

/// Who may do what, by their claims. The first rule that matches decides.
#[derive(Debug, Deserialize)]
pub(super) struct ClaimRules {
    /// The issuer's name, for people and in principals.
    name: String,
    /// The claim that names a principal.
    #[serde(default = "subject")]
    principal: String,
    /// What to ask the issuer for at a sign-in, besides `openid`.
    #[serde(default)]
    scopes: Vec<String>,
    #[serde(default)]
    grant: Vec<GrantRule>,
}

#[derive(Debug, Deserialize)]
struct GrantRule {
    claim: ClaimPath,
    value: String,
    role: Role,
    #[serde(default)]
    accounts: Vec<String>,
    #[serde(default)]
    datasets: Vec<String>,
    #[serde(default)]
    sees_above: bool,
}

/// A claim, or a claim within claims.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum ClaimPath {
    Name(String),
    Path(Vec<String>),
}

impl ClaimPath {
    fn names(&self) -> &[String] {
        match self {
            ClaimPath::Name(name) => std::slice::from_ref(name),
            ClaimPath::Path(names) => names,
        }
    }
}

fn subject() -> String {
    "sub".to_string()
}

impl ClaimRules {
    /// Reads the file. Blocks.
    pub(super) fn read(file: &Path) -> Result<ClaimRules, Problem> {
        let cannot = |why: &dyn std::fmt::Display| {
            Problem::new(Code::Storage, format!("the claims file {} cannot be read: {why}", file.display()))
        };
        let size = std::fs::metadata(file).map_err(|error| cannot(&error))?.len();
        if size > LARGEST {
            return Err(cannot(&format!("it has {size} bytes, and the limit is {LARGEST}")));
        }
        let text = std::fs::read_to_string(file).map_err(|error| cannot(&error))?;
        ClaimRules::parse(&text)
            .map_err(|why| Problem::bad_request(format!("the claims file {}: {why}", file.display())))
    }

    pub(super) fn parse(text: &str) -> Result<ClaimRules, String> {
        let table: Table = text.parse().map_err(|error: toml::de::Error| error.to_string().trim_end().to_string())?;
        check_keys(&table, "", &["name", "principal", "scopes", "grant"])?;
        let grants = table.get("grant").and_then(Value::as_array).into_iter().flatten();
        for (at, grant) in grants.enumerate() {
            let known = ["claim", "value", "role", "accounts", "datasets", "sees_above"];
            check_keys(grant.as_table().unwrap_or(&Table::new()), &format!(" of grant {}", at + 1), &known)?;
        }
        let rules: ClaimRules = table.try_into().map_err(|error: toml::de::Error| error.message().to_string())?;
        rules.check()?;
        Ok(rules)
    }

    fn check(&self) -> Result<(), String> {
        check_principal("name", &self.name).map_err(|problem| problem.detail)?;
        if self.name.len() > LONGEST_NAME {
            return Err(format!("the name {:?} has more than {LONGEST_NAME} characters", self.name));
        }
        if self.grant.is_empty() {
            return Err("it grants nothing; add a [[grant]] with claim, value and role".to_string());
        }
        for (at, rule) in self.grant.iter().enumerate() {
            let wrong = |why: String| format!("grant {}: {why}", at + 1);
            if rule.claim.names().is_empty() || rule.value.is_empty() {
                return Err(wrong("claim and value must not be empty".to_string()));
            }
            // Every name from a claim has the same form as this one.
            rule.for_name("alice", &self.name).map_err(|problem| wrong(problem.detail))?;
        }
        Ok(())
    }

    /// The issuer's name.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The scopes of a sign-in, separated by spaces.
    pub(super) fn scope(&self) -> String {
        let more = self.scopes.iter().map(String::as_str).filter(|scope| *scope != "openid");
        ["openid"].into_iter().chain(more).collect::<Vec<_>>().join(" ")
    }

    /// What the claims grant, as a token of this server would: the journal, the limits and the pages make no difference.
    pub(super) fn grant(&self, claims: &Claims, validity: Validity, issuer: &str) -> Result<TokenDocument, Problem> {
        let forbidden = |detail: String| Problem::new(Code::Forbidden, detail);
        let Some(name) = claims.text(&self.principal) else {
            let claim = &self.principal;
            return Err(forbidden(format!(
                "your token has no claim {claim}, from which this server takes your name; tell the owner"
            )));
        };
        check_principal("name", name).map_err(|problem| {
            let (claim, why) = (&self.principal, problem.detail);
            forbidden(format!("the claim {claim} of your token cannot name you here: {why}. Tell the owner"))
        })?;
        let rule = self.grant.iter().find(|rule| claims.has(rule.claim.names(), &rule.value)).ok_or_else(|| {
            let issuer = &self.name;
            forbidden(format!(
                "{issuer} knows you as {name}, but no rule in this server's claims file gives that name access; ask the owner to add one"
            ))
        })?;
        let new = rule.for_name(name, &self.name)?;
        Ok(TokenDocument {
            id: identity_id(issuer, name),
            principal: new.principal,
            role: new.role,
            accounts: names("accounts", &new.accounts)?,
            datasets: names("datasets", &new.datasets)?,
            sees_above: new.sees_above,
            created: validity.issued.to_string(),
            expires: validity.expires.to_string(),
            revoked: None,
            issuer: Some(issuer.to_string()),
        })
    }
}

impl GrantRule {
    /// The grant for one name, checked like a token of this server.
    fn for_name(&self, name: &str, issuer: &str) -> Result<NewToken, Problem> {
        let parse = |template: &String| AccountName::parse(&template.replace(NAME, name)).map_err(Problem::from);
        let new = NewToken {
            principal: format!("{name}{SEPARATOR}{issuer}"),
            role: self.role,
            accounts: self.accounts.iter().map(parse).collect::<Result<_, _>>()?,
            datasets: self.datasets.iter().map(parse).collect::<Result<_, _>>()?,
            sees_above: self.sees_above,
            expires: None,
        };
        check_role(&new)?;
        Ok(new)
    }
}

/// The id of an identity: the same for all its tokens, so that a new token does not bring a new rate limit.
fn identity_id(issuer: &str, name: &str) -> String {
    let mut hasher = blake3::Hasher::new_derive_key("taximeter 2026-11-18 identity of an issuer");
    hasher.update(&(issuer.len() as u64).to_le_bytes()).update(issuer.as_bytes()).update(name.as_bytes());
    format!("oidc-{}", &hasher.finalize().to_hex()[..32])
}

/// Rejects an unknown key, and suggests the nearest known one.
fn check_keys(table: &Table, place: &str, known: &[&str]) -> Result<(), String> {
    let Some(other) = table.keys().find(|key| !known.contains(&key.as_str())) else { return Ok(()) };
    let near = known.iter().max_by(|a, b| strsim::jaro(a, other).total_cmp(&strsim::jaro(b, other)));
    let near = near.map(|near| format!("; did you mean {near}?")).unwrap_or_default();
    Err(format!("the key {other}{place} is not known{near}"))
}

#[cfg(test)]
mod tests;
