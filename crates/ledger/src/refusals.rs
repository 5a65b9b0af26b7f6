//! The newest refusals: they are not in the journal.

use std::collections::VecDeque;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::charge::{PreparedCharge, Refusal};
use crate::clock::now;
use crate::name::{AccountName, Who};

/// How many refusals are remembered.
const REFUSALS: usize = 100;

/// The newest refusals, and how many there were.
#[derive(Default)]
pub(crate) struct Refusals {
    pub(crate) count: u64,
    pub(crate) newest: VecDeque<RefusedCharge>,
}

/// A charge that was refused, remembered as long as the process lives.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RefusedCharge {
    /// When, in UTC.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub time: Timestamp,
    /// The first account from the root that refused.
    pub account: AccountName,
    /// Why.
    pub reason: String,
    /// Who asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<Who>,
}

impl Refusals {
    pub(crate) fn note(&mut self, charge: &PreparedCharge, refusal: &Refusal) {
        self.count += 1;
        if self.newest.len() == REFUSALS {
            self.newest.pop_front();
        }
        let (account, reason) = &refusal.refused()[0];
        let by = charge.charge.who().cloned();
        self.newest.push_back(RefusedCharge { time: now(), account: account.clone(), reason: reason.text(), by });
    }
}
