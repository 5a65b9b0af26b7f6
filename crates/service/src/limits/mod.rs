//! How much one caller may have, so that it cannot take what the others need.

mod fair_queue;
mod question_queue;
mod rates;
mod slots;

pub(crate) use fair_queue::{FairQueue, Permit};
pub(crate) use question_queue::{QuestionPermit, QuestionQueue};
pub(crate) use rates::Rates;
pub use slots::{Slot, Slots};
