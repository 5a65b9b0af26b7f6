//! What waits for the writer.

use async_channel::Receiver;

use crate::account::AccountSpec;
use crate::charge::{Outcome, PreparedCharge, Receipt};
use crate::error::Error;
use crate::name::{AccountName, Note, Who};

/// What waits in the queue: something to do, and where the reply goes.
pub(crate) enum Command {
    Charge(PreparedCharge, ReplyTo<Outcome>),
    Open(Box<AccountSpec>, ReplyTo<Receipt>),
    Close(AccountName, Option<Who>, Option<Note>, ReplyTo<Receipt>),
    /// Takes over what other processes wrote, which every transaction does first.
    Refresh(ReplyTo<()>),
    /// The same, and then all witnesses learn of it, so that receipts of it may be shown.
    Acknowledge(ReplyTo<()>),
}

/// Where the reply goes. Dropping it tells the caller that there is none.
pub(crate) type ReplyTo<T> = oneshot::Sender<Result<T, Error>>;

impl Command {
    /// How much there is to decide, at most: costs times accounts that pay them.
    pub(crate) fn work(&self) -> usize {
        match self {
            Command::Charge(prepared, _) => {
                prepared.costs.len() * prepared.charge.accounts().len() * AccountName::DEPTH
            }
            Command::Open(..) | Command::Close(..) | Command::Refresh(_) | Command::Acknowledge(_) => 1,
        }
    }

    /// Whether it only takes over what is there, so that its outcome is never in doubt.
    pub(super) fn changes_nothing(&self) -> bool {
        matches!(self, Command::Refresh(_) | Command::Acknowledge(_))
    }

    pub(super) fn fail(self, error: Error) {
        // A caller that no longer waits gets no answer.
        let _ = match self {
            Command::Charge(_, reply) => reply.send(Err(error)).is_ok(),
            Command::Open(_, reply) | Command::Close(.., reply) => reply.send(Err(error)).is_ok(),
            Command::Refresh(reply) | Command::Acknowledge(reply) => reply.send(Err(error)).is_ok(),
        };
    }
}

/// Everything that waits now.
pub(crate) fn waiting(commands: &Receiver<Command>) -> impl Iterator<Item = Command> {
    std::iter::from_fn(|| commands.try_recv().ok())
}
