//! What clients were told, compared with what is in the ledger.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use taximeter_ledger::{Event, Key, Location, Receipt, verify};
use taximeter_testing::LoadResult;

use super::{Failed, make};
use crate::ledger::load::account;

/// How many acknowledged charges are not in the ledger as they were acknowledged, and how many keys are in it more than once. The
/// ledger must verify, and what is in it beside what was acknowledged must have been asked.
pub fn compare(location: &Location, folder: &Path, done: &LoadResult) -> Result<(usize, usize), Failed> {
    verify(location, Some(&folder.join("witness")), &mut |_, _| {})?;
    let ledger = make(location, folder, &[])?;
    let mut found: HashMap<String, (u64, Option<String>)> = HashMap::new();
    let (mut doubled, mut from) = (0, None);
    loop {
        let part = ledger.history(&account(0)?, from, 1000)?;
        for receipt in &part.records {
            let Some(key) = key_of(receipt)? else { continue };
            let place = (receipt.sequence(), Some(receipt.hash().to_string()));
            doubled += usize::from(found.insert(key, place).is_some());
        }
        from = part.next;
        if from.is_none() {
            break;
        }
    }
    let mut lost = 0;
    for acknowledged in &done.acknowledged {
        let key = Key::belonging_to("bench", &acknowledged.key)?.to_string();
        let as_it_was =
            found.remove(&key).is_some_and(|place| place == (acknowledged.sequence, acknowledged.hash.clone()));
        lost += usize::from(!as_it_was);
    }
    let asked: HashSet<String> = done
        .unknown
        .iter()
        .map(|key| Ok(Key::belonging_to("bench", key)?.to_string()))
        .collect::<Result<_, Failed>>()?;
    match found.into_keys().find(|key| !asked.contains(key)) {
        Some(key) => Err(format!("the ledger has a charge that no client asked for: {key}").into()),
        None => Ok((lost, doubled)),
    }
}

fn key_of(receipt: &Receipt) -> Result<Option<String>, Failed> {
    Ok(match receipt.record()?.event {
        Event::Charge(charge) => Some(charge.key().to_string()),
        _ => None,
    })
}
