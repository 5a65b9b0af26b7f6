//! Limits for each caller, so that none can starve the others.

mod fair_queue;
mod question_queue;
mod rates;
mod slots;

pub(crate) use fair_queue::{FairQueue, Permit};
pub(crate) use question_queue::{QuestionPermit, QuestionQueue};
pub(crate) use rates::Rates;
pub use slots::{Slot, Slots};
