//! Between a commit and its acknowledgement: the witness on this machine, and those on others.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::batch::Reply;
use super::step::{WriterStep, is_omitted};
use super::{Shared, Undone, Writer};
use crate::books::Changes;
use crate::charge::Outcome;
use crate::clock::instant;
use crate::cosigning::{Cosigners, Uncovered};
use crate::error::{Error, ErrorKind};
use crate::journal::Position;
use crate::witness::{Sharing, Testimony};

/// How long the witnesses on other machines may take, before the outcome is unknown.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long they may take if they were late before: the next caller fails soon, or finds that they are back.
const PATIENCE_WHEN_LATE: Duration = Duration::from_secs(2);

impl Writer {
    /// What is on disk is remembered by the witnesses, and then part of the books. The request to other machines is under way while
    /// the witness on this one is synced. Returns the replies as they can be given now.
    pub(super) fn remember(
        &mut self,
        changes: Changes,
        started: Instant,
        replies: Vec<Reply>,
    ) -> Result<Vec<Reply>, Undone> {
        let ledger = self.shared.books().id();
        if let Some(cosigners) = &mut self.cosigners {
            let new: Vec<Position> = changes.entries().iter().map(|entry| entry.receipt.position()).collect();
            cosigners.send(changes.head(), &new, &self.shared).map_err(Undone::Stop)?;
        }
        if !is_omitted(WriterStep::AdvanceWitness) {
            self.witness.advance(Testimony { ledger, position: changes.head() }).map_err(Undone::Stop)?;
        }
        let covered = match self.cover(Cosigners::wait, PATIENCE) {
            Err(Uncovered::Few(why)) => Err(why),
            other => other.map_err(|uncovered| self.apart(uncovered)).map(Ok)?,
        };
        if covered.is_ok() {
            self.shared.set_acknowledged(changes.head());
        }
        self.shared.commit_clock.note(instant().saturating_duration_since(started));
        self.shared.charges.fetch_add(changes.charges(), Ordering::Relaxed);
        self.shared.books_mut().adopt(changes);
        // The charges are on the ledger and count, but others could not be sure of it: their keys tell once the witnesses are back.
        Ok(match covered {
            Ok(()) => replies,
            Err(why) => replies.into_iter().map(|reply| reply.unacknowledged(&why)).collect(),
        })
    }

    /// Nothing is decided before the witnesses have cosigned what was committed: otherwise a budget could be spent without anyone being
    /// told.
    pub(super) fn cover_outstanding(&mut self) -> Result<(), Undone> {
        let is_late = self.shared.cosignatures.as_ref().is_some_and(|cosignatures| cosignatures.is_late());
        if is_late { self.cover_or_fail(PATIENCE_WHEN_LATE) } else { Ok(()) }
    }

    /// What a repeated key acknowledges again must be cosigned, too, also if another process wrote it.
    pub(super) fn cover_known(&mut self, head: Position) -> Result<(), Undone> {
        match &mut self.cosigners {
            Some(cosigners) if cosigners.size() <= head.sequence => {
                cosigners.send(head, &[], &self.shared).map_err(Undone::Failed)?;
                self.cover_or_fail(PATIENCE)
            }
            _ => Ok(()),
        }
    }

    fn cover_or_fail(&mut self, patience: Duration) -> Result<(), Undone> {
        self.cover(Cosigners::wait, patience).map_err(|uncovered| match uncovered {
            Uncovered::Few(why) => Undone::Late(why),
            other => self.apart(other),
        })
    }

    fn cover(
        &mut self,
        wait: fn(&Cosigners, Duration) -> Result<(), Uncovered>,
        patience: Duration,
    ) -> Result<(), Uncovered> {
        if is_omitted(WriterStep::AwaitCosignatures) {
            return Ok(());
        }
        let Writer { cosigners, shared, sharing, .. } = self;
        cosigners.as_mut().map_or(Ok(()), |cosigners| cover_within(cosigners, shared, *sharing, wait, patience))
    }

    /// The ledger is not what a witness cosigned, and must not go on.
    fn apart(&self, uncovered: Uncovered) -> Undone {
        Undone::Stop(match (uncovered, &self.cosigners) {
            (Uncovered::Ahead { cosigner, size, .. }, Some(cosigners)) => cosigners.behind(cosigner, size),
            (Uncovered::Ahead { .. }, None) => Error::integrity("a witness is ahead of the ledger"),
            (Uncovered::Forked(error) | Uncovered::Few(error), _) => error,
        })
    }
}

/// Waits until the witnesses have cosigned what was sent, when a ledger is opened.
pub(crate) fn cover(
    cosigners: &mut Cosigners,
    shared: &Shared,
    sharing: Sharing,
    wait: fn(&Cosigners, Duration) -> Result<(), Uncovered>,
) -> Result<(), Uncovered> {
    cover_within(cosigners, shared, sharing, wait, PATIENCE)
}

/// Waits. Where other processes write to the same ledger, a witness may know what they wrote; then a newer checkpoint is sent. It comes
/// back as being ahead only if the ledger cannot go on.
fn cover_within(
    cosigners: &mut Cosigners,
    shared: &Shared,
    sharing: Sharing,
    wait: fn(&Cosigners, Duration) -> Result<(), Uncovered>,
    patience: Duration,
) -> Result<(), Uncovered> {
    let until = instant() + patience;
    loop {
        let (cosigner, size, doubt) = match wait(cosigners, until.saturating_duration_since(instant())) {
            Err(Uncovered::Ahead { cosigner, size, doubt }) => (cosigner, size, doubt),
            other => return other,
        };
        let head = match sharing {
            Sharing::Shared => shared.connections.look(|store| Ok(store.head()?)).map_err(Uncovered::Few)?,
            Sharing::Alone => None,
        };
        match (head.map(|head| head.position()).filter(|head| head.sequence + 1 >= size), doubt) {
            (Some(head), _) => cosigners.send(head, &[], shared).map_err(Uncovered::Few)?,
            (None, Some(few)) => return Err(Uncovered::Few(few)),
            (None, None) => return Err(Uncovered::Ahead { cosigner, size, doubt: None }),
        }
    }
}

impl Reply {
    /// The reply if it is not certain that others know of what was committed.
    fn unacknowledged(self, why: &Error) -> Reply {
        let unknown = || Error::from(ErrorKind::UnknownOutcome(Some(why.clone())));
        match self {
            Reply::Charge(Ok(Outcome::Charged(_) | Outcome::Replayed(_))) => Reply::Charge(Err(unknown())),
            Reply::Charge(Ok(Outcome::Refused(refusal))) if refusal.halt().is_some() => Reply::Charge(Err(unknown())),
            Reply::Account(Ok(_)) => Reply::Account(Err(unknown())),
            other => other,
        }
    }
}
