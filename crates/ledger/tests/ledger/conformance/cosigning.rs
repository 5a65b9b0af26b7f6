//! Checkpoints, proofs, and witnesses on other machines: nothing is acknowledged before enough of them have cosigned it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use taximeter_ledger::{Cosigner, Error, ErrorKind, Ledger, Location, Options, Signing, verify_with};
use taximeter_testing::wait_until;
use taximeter_transparency::{
    Checkpoint, CosignRefusal, CosignRequest, Cosigned, Frontier, KeyUse, NodeHash, PublicKey, SecretKey,
    SignedCheckpoint, Trust, TrustedKey, check_consistency, check_inclusion, decide,
};

use super::place::*;
use super::witness::with_an_account;

/// A witness on another machine.
struct OtherMachine {
    key: SecretKey,
    signers: Vec<TrustedKey>,
    cosigned: Mutex<Option<(Cosigned, SignedCheckpoint)>>,
    is_up: AtomicBool,
    /// Whether it shows what it cosigned.
    shows: AtomicBool,
    /// Whether it says that it cosigned more than it was sent.
    lies: AtomicBool,
    requests: AtomicU64,
}

impl OtherMachine {
    fn answer(&self, path: &str, body: &str) -> Result<(u16, String), String> {
        if !self.is_up.load(Ordering::SeqCst) {
            return Err("it is switched off".to_string());
        }
        self.requests.fetch_add(1, Ordering::SeqCst);
        let mut cosigned = self.cosigned.lock().unwrap();
        if path == "latest-checkpoint" {
            let shown = cosigned.as_ref().filter(|_| self.shows.load(Ordering::SeqCst));
            return Ok(shown.map_or((404, String::new()), |(_, shown)| (200, shown.to_string())));
        }
        let request = CosignRequest::parse(body).unwrap();
        if self.lies.load(Ordering::SeqCst) {
            return Ok((409, "1000000\n".to_string()));
        }
        Ok(match decide(&request, &self.signers, cosigned.as_ref().map(|(cosigned, _)| *cosigned)) {
            Ok(now) => {
                *cosigned = Some((now, request.checkpoint.clone()));
                (200, request.cosign(&self.key, 1_700_000_000).to_string())
            }
            Err(CosignRefusal::Conflict { cosigned }) => (409, format!("{cosigned}\n")),
            Err(CosignRefusal::UnknownLedger(_)) => (404, String::new()),
            Err(CosignRefusal::NotSigned(_)) => (403, String::new()),
            Err(CosignRefusal::WrongSizes { .. }) => (400, String::new()),
            Err(CosignRefusal::Inconsistent(_)) => (422, String::new()),
        })
    }

    fn requests(&self) -> u64 {
        self.requests.load(Ordering::SeqCst)
    }

    fn switch(&self, is_up: bool) {
        self.is_up.store(is_up, Ordering::SeqCst);
    }

    fn size(&self) -> u64 {
        self.cosigned.lock().unwrap().as_ref().map_or(0, |(cosigned, _)| cosigned.size)
    }
}

/// A ledger's key, and witnesses that know it.
struct World {
    signer: SecretKey,
    machines: Vec<Arc<OtherMachine>>,
}

impl World {
    /// Makes a ledger with an account, and witnesses for it.
    fn new(place: &Place, count: usize) -> World {
        let id = with_an_account(place).id().to_string();
        let signer = SecretKey::generate(&Checkpoint::origin_of(&id), KeyUse::Sign).unwrap();
        let signers = vec![TrustedKey::parse(&signer.public().to_string()).unwrap()];
        let machine = |at| OtherMachine {
            key: SecretKey::generate(&format!("witness{at}.example"), KeyUse::Cosign).unwrap(),
            signers: signers.clone(),
            cosigned: Mutex::new(None),
            is_up: AtomicBool::new(true),
            shows: AtomicBool::new(true),
            lies: AtomicBool::new(false),
            requests: AtomicU64::new(0),
        };
        World { machines: (0..count).map(|at| Arc::new(machine(at))).collect(), signer }
    }

    fn signing(&self, required: usize) -> Arc<Signing> {
        let machines = self.machines.clone();
        let send = move |url: &str, body: &str, _| {
            let (at, path) = url.split_once('/').unwrap();
            machines[at.parse::<usize>().unwrap()].answer(path, body)
        };
        let cosigner = |(at, machine): (usize, &Arc<OtherMachine>)| Cosigner {
            url: at.to_string(),
            key: machine.key.public().clone(),
        };
        let cosigners = self.machines.iter().enumerate().map(cosigner).collect();
        let signers = vec![SecretKey::parse(&self.signer.to_text()).unwrap()];
        Arc::new(Signing { signers, cosigners, required, send: Box::new(send) })
    }

    fn open(&self, place: &Place, required: usize) -> Result<Ledger, Error> {
        Ledger::open(&place.location, Options { signing: Some(self.signing(required)), ..place.options() })
    }

    /// Why it does not open.
    #[track_caller]
    fn closed(&self, place: &Place, required: usize) -> Error {
        self.open(place, required).err().expect("it should stay closed")
    }

    fn trust(&self, required: usize) -> Trust {
        let signers = vec![TrustedKey::parse(&self.signer.public().to_string()).unwrap()];
        Trust {
            signers,
            cosigners: self.machines.iter().map(|machine| machine.key.public().clone()).collect(),
            required,
        }
    }

    fn switch(&self, is_up: &[bool]) {
        self.machines.iter().zip(is_up).for_each(|(machine, is_up)| machine.switch(*is_up));
    }
}

fn pay(ledger: &Ledger, key: &str) -> Result<taximeter_ledger::Outcome, Error> {
    ledger.charge(charge(key, &["census"], &[epsilon("0.001")]))
}

/// What anyone can compute from an export: the leaves, by nothing but the lines.
fn leaves(place: &Place) -> Vec<NodeHash> {
    let export = place.export();
    let lines: Vec<&str> = export.lines().collect();
    let records = lines[..lines.len() - 1].iter();
    records.map(|line| NodeHash::leaf(blake3::hash(line.as_bytes()).as_bytes())).collect()
}

pub fn roots_and_proofs_follow_from_an_export_alone(place: &Place) {
    let world = World::new(place, 0);
    let ledger = world.open(place, 0).unwrap();
    let charges = if matches!(place.location, Location::File(_)) { 600 } else { 40 };
    let early = ledger.checkpoint().unwrap().unwrap();
    (0..charges).for_each(|at| drop(charged(pay(&ledger, &format!("k{at}")))));
    let leaves = leaves(place);
    let signed = ledger.checkpoint().unwrap().unwrap();
    signed.check(&world.trust(0)).unwrap();
    let checkpoint = signed.checkpoint();
    let size = leaves.len() as u64;
    assert_eq!((checkpoint.size, checkpoint.root), (size, Frontier::of(&leaves).root()));
    let mut reader = place.reader().unwrap();
    assert_eq!(reader.checkpoint().unwrap().root, checkpoint.root);
    for (index, size) in
        [(0, 1), (0, size), (1, 2), (size - 1, size), (size / 2, size), (3, size - 5), (size / 3, size - 1)]
    {
        let path = ledger.inclusion(index, size).unwrap();
        assert_eq!(path, reader.inclusion(index, size).unwrap());
        let root = Frontier::of(&leaves[..size as usize]).root();
        check_inclusion(leaves[index as usize], index, size, &path, root).unwrap();
    }
    for old in [0, 1, 2, early.checkpoint().size, size / 2, size - 1, size] {
        let path = ledger.consistency(old, size).unwrap();
        assert_eq!(path, reader.consistency(old, size).unwrap());
        let old_root = Frontier::of(&leaves[..old as usize]).root();
        check_consistency((old, old_root), (size, checkpoint.root), &path).unwrap();
    }
    assert!(ledger.inclusion(5, 5).unwrap_err().is_input());
    assert!(ledger.consistency(9, 5).unwrap_err().is_input());
    // A key of another ledger does not sign for this one.
    let other = World::new(&place.another(), 0);
    drop(ledger);
    assert!(other.closed(place, 0).is_input());
}

pub fn verification_checks_stored_checkpoints(place: &Place) {
    let world = World::new(place, 0);
    let ledger = world.open(place, 0).unwrap();
    let mut checkpoints: Vec<Checkpoint> = Vec::new();
    for at in 0..5 {
        checkpoints.push(ledger.checkpoint().unwrap().unwrap().checkpoint().clone());
        charged(pay(&ledger, &format!("k{at}")));
    }
    drop(ledger);
    let verify = |checkpoints: &[Checkpoint]| {
        verify_with(&place.location, Some(&place.witness), &|_| Ok(checkpoints.to_vec()), &mut |_, _| {})
    };
    verify(&checkpoints).unwrap();
    // A checkpoint of another history, and one of more records than there are.
    let other = Checkpoint { root: checkpoints[1].root, ..checkpoints[3].clone() };
    let error = verify(&[checkpoints[2].clone(), other]).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Integrity { record: Some(4), .. }), "{error}");
    taximeter_ledger::clear_alarm(&place.location).unwrap();
    let error = verify(&[Checkpoint { size: 99, ..checkpoints[4].clone() }]).unwrap_err();
    check_message(&error, &["record 7", "missing", "99 records"]);
    // As for any other fault, the alarm is raised.
    assert!(taximeter_ledger::clear_alarm(&place.location).unwrap().is_some());
}

pub fn every_acknowledged_charge_is_covered_by_a_cosigned_checkpoint_after_one_request(place: &Place) {
    let world = World::new(place, 3);
    let ledger = world.open(place, 2).unwrap();
    let trust = world.trust(2);
    wait_until("all three cosigned the start", || world.machines.iter().all(|machine| machine.size() == 2));
    let before: Vec<u64> = world.machines.iter().map(|machine| machine.requests()).collect();
    for at in 0..20 {
        let fresh = charged(pay(&ledger, &format!("k{at}")));
        let newest: SignedCheckpoint = ledger.checkpoint().unwrap().unwrap();
        assert!(newest.check(&trust).unwrap().len() >= 2);
        let sequence = fresh.receipt().sequence();
        assert_eq!(newest.checkpoint().newest(), sequence);
        let path = ledger.inclusion(sequence, newest.checkpoint().size).unwrap();
        let leaf = leaves(place)[sequence as usize];
        check_inclusion(leaf, sequence, newest.checkpoint().size, &path, newest.checkpoint().root).unwrap();
    }
    drop(ledger);
    for (machine, before) in world.machines.iter().zip(before) {
        assert!(machine.requests() - before <= 20, "one request for a batch");
        assert_eq!(machine.size(), 22);
    }
}

pub fn without_enough_cosignatures_nothing_is_acknowledged_and_keys_tell_later(place: &Place) {
    let world = World::new(place, 3);
    let ledger = world.open(place, 2).unwrap();
    world.switch(&[true, false, true]);
    charged(pay(&ledger, "one is off"));
    world.switch(&[true, false, false]);
    let error = pay(&ledger, "two are off").unwrap_err();
    assert!(error.is_unknown_outcome(), "{error}");
    check_message(&error, &["of the witnesses cosigned, and 2 must", "switched off"]);
    // Its receipt does not acknowledge it either.
    let sequence = ledger.position().sequence;
    assert!(ledger.receipt_of(&key("two are off")).unwrap_err().is_unknown_outcome());
    let error = ledger.receipt(sequence).unwrap_err();
    assert!(error.is_unknown_outcome(), "{error}");
    check_message(&error, &["of the witnesses cosigned, and 2 must", "switched off"]);
    assert!(!error.to_string().contains("Nothing was charged"), "{error}");
    assert_eq!(ledger.acknowledged(sequence), sequence);
    assert!(ledger.receipt_of(&key("one is off")).unwrap().is_some());
    assert!(ledger.receipt(sequence - 1).unwrap().is_some());
    // From then on nothing is charged, nor replayed, and the ledger says why it is not ready.
    let records = place.journal().len();
    for key in ["another", "one is off", "two are off"] {
        assert!(pay(&ledger, key).unwrap_err().is_busy());
    }
    assert!(ledger.health().unwrap_err().is_busy());
    assert!(ledger.open_account(budgeted("other", "1,1e-6")).unwrap_err().is_busy());
    assert_eq!(place.journal().len(), records);
    let newest = ledger.checkpoint().unwrap().unwrap().checkpoint().newest();
    assert_eq!(newest, records as u64 - 2, "the charge without enough cosignatures is not covered");
    world.switch(&[true, true, false]);
    wait_until("the witnesses are asked again", || ledger.health().is_ok());
    assert_eq!(ledger.acknowledged(sequence), sequence + 1);
    assert_eq!(ledger.receipt_of(&key("two are off")).unwrap().map(|receipt| receipt.sequence()), Some(sequence));
    replayed(pay(&ledger, "two are off"));
    charged(pay(&ledger, "another"));
    // The one that was off catches up with what it missed.
    world.switch(&[true, true, true]);
    charged(pay(&ledger, "the last"));
    wait_until("all have caught up", || world.machines.iter().all(|machine| machine.size() == records as u64 + 2));
}

/// One witness under two names was enough where two were required.
pub fn a_witness_that_is_named_twice_is_an_error(place: &Place) {
    let world = World::new(place, 1);
    let machine = world.machines[0].key.public().to_string();
    let [one, two] = [
        "one.example+98f30cf1+BAcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcH",
        "two.example+10687307+BAcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcH",
    ];
    for keys in [[machine.as_str(), machine.as_str()], [one, two]] {
        let cosigner = |key: &str| Cosigner { url: "0".to_string(), key: PublicKey::parse(key).unwrap() };
        let signing = Arc::into_inner(world.signing(1)).unwrap();
        let signing = Signing { cosigners: keys.map(cosigner).into(), required: 2, ..signing };
        let options = Options { signing: Some(Arc::new(signing)), ..place.options() };
        let error = Ledger::open(&place.location, options).err().expect("they are one witness");
        assert!(error.is_input(), "{error}");
        check_message(&error, &[keys[0], keys[1], "name each witness once"]);
    }
}

pub fn a_snapshot_of_ledger_and_witness_is_noticed_by_another_machine(place: &Place) {
    let world = World::new(place, 3);
    let ledger = world.open(place, 2).unwrap();
    charged(pay(&ledger, "before"));
    drop(ledger);
    let snapshot = place.copy();
    let ledger = world.open(place, 2).unwrap();
    charged(pay(&ledger, "after"));
    drop(ledger);
    // The witness on this machine was put back with it, and notices nothing.
    drop(snapshot.open().unwrap());
    let error = world.closed(&snapshot, 2);
    assert!(error.is_rollback(), "{error}");
    check_message(&error, &["ends at record 2", "cosigned record 3"]);
    // Two of three are needed to charge. To be sure, at least two must answer at the start, too.
    world.switch(&[true, false, false]);
    assert!(world.closed(place, 2).is_busy());
    // With one required, all three must: the one that cosigned the newest charge may be any of them.
    world.switch(&[true, true, false]);
    assert!(world.closed(place, 1).is_busy());
    world.switch(&[true, true, true]);
    drop(world.open(place, 1).unwrap());
}

pub fn a_copy_that_goes_on_is_a_fork_and_stops(place: &Place) {
    let world = World::new(place, 1);
    drop(world.open(place, 1).unwrap());
    let copy = place.copy();
    let ledger = world.open(place, 1).unwrap();
    let other = world.open(&copy, 1).unwrap();
    charged(pay(&ledger, "here"));
    // Both have one identity, and the same number of records.
    let error = pay(&other, "there").unwrap_err();
    assert!(error.is_unknown_outcome(), "{error}");
    check_message(&error, &["are not those that the witness witness0.example cosigned"]);
    assert!(!other.is_running());
    drop(other);
    let error = world.closed(&copy, 1);
    assert!(matches!(error.kind(), ErrorKind::CosignedOther { .. }), "{error}");
    charged(pay(&ledger, "still here"));
}

/// One of three witnesses says that it cosigned more. No one but the ledger could have signed that.
pub fn a_witness_that_lies_does_not_stop_a_ledger_that_others_cosign(place: &Place) {
    let world = World::new(place, 3);
    let ledger = world.open(place, 2).unwrap();
    charged(pay(&ledger, "before"));
    wait_until("all have cosigned", || world.machines.iter().all(|machine| machine.size() == 3));
    let liar = &world.machines[1];
    liar.lies.store(true, Ordering::SeqCst);
    // What it shows is a checkpoint of this very history, or none.
    for (key, shows) in [("it shows an old one", true), ("it shows none", false)] {
        liar.shows.store(shows, Ordering::SeqCst);
        charged(pay(&ledger, key));
        wait_until("it is noticed", || ledger.doubtful_cosigners() == ["witness1.example"]);
    }
    drop(ledger);
    let ledger = world.open(place, 2).unwrap();
    charged(pay(&ledger, "after"));
    wait_until("it is noticed again", || ledger.doubtful_cosigners() == ["witness1.example"]);
    // It counts for nothing: with another one away, too few are left.
    world.switch(&[true, true, false]);
    let error = pay(&ledger, "one is away").unwrap_err();
    assert!(error.is_unknown_outcome(), "{error}");
    check_message(&error, &["witness1.example says that it cosigned 1000000 records", "switched off"]);
    world.switch(&[true, true, true]);
    wait_until("it is asked again", || ledger.health().is_ok());
    liar.lies.store(false, Ordering::SeqCst);
    charged(pay(&ledger, "it was mended"));
    wait_until("it cosigns again", || ledger.doubtful_cosigners().is_empty());
    drop(ledger);
    // If too few are left in any case, the ledger stays closed, whether it is true or not.
    liar.lies.store(true, Ordering::SeqCst);
    for required in [1, 3] {
        let error = world.closed(place, required);
        assert!(matches!(error.kind(), ErrorKind::CosignedFurther { cosigned: 999_999, .. }), "{error}");
    }
}

/// A charge was cosigned by one of three witnesses, and not acknowledged. Then an old copy is put back.
pub fn one_witness_with_a_proof_is_enough_to_notice_an_old_copy(place: &Place) {
    let world = World::new(place, 3);
    drop(world.open(place, 2).unwrap());
    wait_until("all have cosigned", || world.machines.iter().all(|machine| machine.size() == 2));
    let copy = place.copy();
    let ledger = world.open(place, 2).unwrap();
    world.switch(&[true, false, false]);
    assert!(pay(&ledger, "one cosigned it").unwrap_err().is_unknown_outcome());
    drop(ledger);
    world.machines[0].switch(true);
    // The others agree with the copy, and are slower.
    world.switch(&[true, true, false]);
    let error = world.closed(&copy, 2);
    assert!(error.is_rollback(), "{error}");
    // What a witness cannot show does not count; what was acknowledged, two others would know.
    world.machines[0].shows.store(false, Ordering::SeqCst);
    assert!(world.closed(&copy, 2).is_busy());
    world.switch(&[true, true, true]);
    let ledger = world.open(&copy, 2).unwrap();
    wait_until("it is noticed", || ledger.doubtful_cosigners() == ["witness0.example"]);
}

/// Several processes may write to a database, and share its witnesses.
pub fn writers_that_share_a_ledger_share_its_witnesses(place: &Place) {
    let world = World::new(place, 2);
    let ledger = world.open(place, 2).unwrap();
    if matches!(place.location, Location::File(_)) {
        charged(pay(&ledger, "alone"));
        return;
    }
    let other = world.open(place, 2).unwrap();
    for at in 0..10 {
        charged(pay(&ledger, &format!("one {at}")));
        charged(pay(&other, &format!("other {at}")));
    }
    replayed(pay(&ledger, "other 9"));
    let (one, two) = (&ledger, &other);
    std::thread::scope(|scope| {
        for (name, ledger) in [("a", one), ("b", two), ("c", one), ("d", two)] {
            scope.spawn(move || (0..10).for_each(|at| drop(charged(pay(ledger, &format!("{name} {at}"))))));
        }
    });
    assert!(world.machines.iter().all(|machine| machine.size() == place.journal().len() as u64));
}
