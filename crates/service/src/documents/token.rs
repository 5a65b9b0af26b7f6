//! Tokens and roles.

use serde::{Deserialize, Serialize};
use taximeter_ledger::AccountName;
use utoipa::ToSchema;

/// What a token allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Everything.
    Owner,
    /// Reads everything except what depends on the data, and changes nothing.
    Auditor,
    /// Charges its own accounts, and asks about its own datasets.
    Analyst,
}

impl Role {
    /// The name in commands and documents.
    pub fn name(self) -> &'static str {
        match self {
            Role::Owner => "owner",
            Role::Auditor => "auditor",
            Role::Analyst => "analyst",
        }
    }
}

/// A token to create.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(examples(
    json!({"principal": "alice", "role": "analyst", "accounts": ["people/alice"], "datasets": ["people"]}),
    json!({"principal": "monitor", "role": "auditor"})
))]
pub struct NewToken {
    /// Its holder: keys and stored answers belong to this name, and the journal records it.
    #[schema(pattern = "^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$")]
    pub principal: String,
    /// What it allows.
    pub role: Role,
    /// The accounts of an analyst, which include those below them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accounts: Vec<AccountName>,
    /// The datasets that an analyst may ask about.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub datasets: Vec<AccountName>,
    /// Whether an analyst may see what the accounts above have left.
    #[serde(default)]
    pub sees_above: bool,
    /// When it ends, in UTC, such as 2027-01-01T00:00:00Z [default: in 90 days].
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    pub expires: Option<String>,
}

/// A token, without its secret.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TokenDocument {
    /// Its id, which is not secret.
    pub id: String,
    /// Its holder.
    pub principal: String,
    /// What it allows.
    pub role: Role,
    /// The accounts of an analyst.
    pub accounts: Vec<AccountName>,
    /// The datasets of an analyst.
    pub datasets: Vec<AccountName>,
    /// Whether an analyst may see what the accounts above have left.
    pub sees_above: bool,
    /// When it was created, in UTC.
    pub created: String,
    /// When it ends, in UTC.
    pub expires: String,
    /// When it was revoked, in UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revoked: Option<String>,
    /// The issuer that vouches for its holder, if it is not a token of this server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issuer: Option<String>,
}

/// A new token with its secret, which is shown only once.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
pub struct CreatedToken {
    /// The token itself: it is not stored, and not shown again.
    pub secret: String,
    /// The token without its secret.
    pub token: TokenDocument,
    /// Warnings for the owner.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// Tokens, oldest first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TokenList {
    /// The tokens, including ended ones.
    pub tokens: Vec<TokenDocument>,
}

/// The caller, as identified by its token.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct WhoAmI {
    /// The token that was used.
    pub token: TokenDocument,
    /// The ledger behind the server.
    pub ledger: String,
}
