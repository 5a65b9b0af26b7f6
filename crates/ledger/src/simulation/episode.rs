//! An episode: one ledger from its beginning on, with everything that goes wrong, by one seed.

use fastrand::Rng;
use taximeter_transparency::{Checkpoint, KeyUse, SecretKey, TrustedKey};

use super::audit::Audit;
use super::clients::Clients;
use super::cosigner::SimulatedCosigner;
use super::database::SimulatedTables;
use super::defects::Defect;
use super::disk::SimulatedDisk;
use super::edges::{enter, leave, with};
use super::faults::EpisodeSetting;
use super::processes::{location, start, stop, take_turn, work_in_background};
use super::world::{SimulatedWorld, WITNESS};
use crate::verify::verify;

pub(super) struct Episode {
    random: Rng,
    pub(super) clients: Clients,
    pub(super) audit: Audit,
    pub(super) setting: EpisodeSetting,
    signer: Option<SecretKey>,
    /// An old copy of the machine with the ledger.
    old_copy: Option<SimulatedDisk>,
}

impl Drop for Episode {
    fn drop(&mut self) {
        (0..self.setting.processes).for_each(stop);
        leave();
    }
}

impl Episode {
    /// An episode of a seed, in a world of its own on this thread.
    pub(super) fn new(seed: u64) -> Episode {
        let mut random = Rng::with_seed(seed);
        let setting = EpisodeSetting::draw(&mut random);
        enter(SimulatedWorld::new(random.fork(), setting.clone()));
        let (clients, audit) = (Clients::default(), Audit::new());
        Episode { random, clients, audit, setting, signer: None, old_copy: None }
    }

    pub(super) fn check(&mut self) -> Result<(), String> {
        self.clients.take_replies()?;
        self.audit.check(&self.clients)
    }

    /// A ledger with accounts, and the witnesses that know its key.
    pub(super) fn begin(&mut self) -> Result<(), String> {
        let setting = self.setting.clone();
        let started = |result: Result<(), _>| result.map_err(|error| format!("it does not start: {error:?}"));
        started(start(0, None, true))?;
        self.clients.open_accounts(0);
        take_turn(0);
        if setting.cosigners > 0 {
            let id = with(|world| world.processes[0].writer.as_ref().map(|writer| writer.shared.books().id()));
            let origin = Checkpoint::origin_of(&id.ok_or("it stopped")?.to_string());
            let signer = SecretKey::generate(&origin, KeyUse::Sign).map_err(|error| error.to_string())?;
            let trusted = vec![TrustedKey::parse(&signer.public().to_string()).map_err(|error| error.to_string())?];
            let forger = with(|world| world.has(Defect::ForgeryTakenForSigned)).then_some(&signer);
            let cosigners = (0..setting.cosigners).map(|at| SimulatedCosigner::new(at, trusted.clone(), forger));
            let cosigners = cosigners.collect();
            with(|world| world.cosigners = cosigners);
            self.signer = Some(signer);
            stop(0);
            started(self.start(0))?;
        }
        // The others have no witness of their own yet, and take the first one's.
        with(|world| {
            let bytes = world.disks[world.processes[0].machine].read(WITNESS).to_vec();
            for machine in world.processes.iter().map(|process| process.machine) {
                if !world.disks[machine].has(WITNESS) {
                    world.disks[machine].write(WITNESS, 0, &bytes);
                    world.disks[machine].sync(WITNESS);
                }
            }
        });
        for process in 1..setting.processes {
            started(self.start(process))?;
        }
        self.check()
    }

    fn start(&self, process: usize) -> Result<(), Option<crate::error::Error>> {
        start(process, self.signer.as_ref(), false)
    }

    /// One thing happens.
    pub(super) fn step(&mut self) {
        let process = self.random.usize(..self.setting.processes);
        match self.random.u32(..1000) {
            0..450 => self.clients.ask_something(process, &mut self.random),
            450..850 => take_turn(process),
            850..920 => work_in_background(process),
            920..960 => self.start_if_down(process),
            _ => self.disturb(process),
        }
    }

    fn start_if_down(&mut self, process: usize) {
        if with(|world| world.processes[process].writer.is_some()) {
            return;
        }
        if let Err(Some(error)) = self.start(process)
            && error.is_integrity()
        {
            with(|world| world.false_alarm = Some(format!("the ledger does not open: {error}")));
        }
    }

    /// Something goes wrong, or ends to.
    fn disturb(&mut self, process: usize) {
        if self.random.u32(..self.setting.rarity) != 0 {
            return;
        }
        let cosigners = with(|world| world.cosigners.len());
        match self.random.u8(..11) {
            0 => stop(process),
            1 => {
                with(|world| world.cut_power(world.processes[process].machine));
                stop(process);
            }
            2 if with(|world| world.setting.is_shared) => with(SimulatedWorld::restart_server),
            3 => with(|world| world.processes[process].is_cut_off ^= true),
            4 | 5 if cosigners > 0 => {
                let at = self.random.usize(..cosigners);
                with(|world| world.cosigners[at].is_away ^= true);
            }
            6 if cosigners > 0 => {
                let at = self.random.usize(..cosigners);
                with(|world| world.cosigners[at].is_hung ^= true);
            }
            7 if cosigners > 0 => {
                let (at, most) = (self.random.usize(..cosigners), self.setting.most_liars());
                with(|world| {
                    let liars = world.cosigners.iter().filter(|cosigner| cosigner.lies).count();
                    let lies = !world.cosigners[at].lies && liars < most;
                    world.cosigners[at].lies = lies;
                });
            }
            8 => {
                let skew = self.random.i64(-50_000_000..50_000_000);
                with(|world| world.processes[process].skew = skew);
            }
            9 => self.old_copy = Some(with(|world| world.disks[0].clone())),
            _ => self.put_an_old_copy_back(process),
        }
    }

    /// A person puts an old copy of the ledger back, with its witness or without. It must not open if anything was acknowledged since.
    fn put_an_old_copy_back(&mut self, process: usize) {
        let (is_shared, demanded) = with(|world| (world.setting.is_shared, world.setting.demanded));
        let Some(mut old) = self.old_copy.clone().filter(|_| !is_shared) else { return };
        stop(process);
        with(SimulatedWorld::reload);
        let present = with(|world| world.disks[0].clone());
        let records = SimulatedTables::load(&old, true).records;
        let is_older = with(|world| {
            let certain = world.tables.certain_records(&world.disks[0]);
            world.tables.records[..certain].starts_with(&records)
        });
        if !is_older {
            // The copy was made of what is not on disk yet, or of what a power cut took away.
            return;
        }
        if demanded == 0 || self.random.bool() {
            let witness = present.read(WITNESS).to_vec();
            old.write(WITNESS, 0, &witness);
            old.sync(WITNESS);
        }
        with(|world| {
            (world.disks[0], world.is_calm) = (old, true);
            world.reload();
        });
        let opened = self.start(process);
        stop(process);
        with(|world| {
            (world.disks[0], world.is_calm) = (present, false);
            world.reload();
        });
        let newest = self.clients.acknowledged.iter().map(|position| position.sequence).max();
        if newest.is_some_and(|newest| newest >= records.len() as u64)
            && !matches!(opened, Err(Some(error)) if error.is_rollback())
        {
            with(|world| world.false_alarm = Some("an old copy of the ledger was not noticed".to_string()));
        }
    }

    /// Nothing goes wrong any more: the ledger opens for all processes.
    pub(super) fn calm_down(&mut self) -> Result<(), String> {
        with(|world| world.is_calm = true);
        for process in 0..self.setting.processes {
            stop(process);
            self.start(process).map_err(|error| format!("the ledger does not open: {error:?}"))?;
            self.check()?;
        }
        Ok(())
    }

    /// In the calm all processes charge, keys are known, and the journal verifies.
    pub(super) fn end(&mut self) -> Result<(), String> {
        for process in 0..self.setting.processes {
            let before = self.clients.requests.len();
            self.clients.ask_new(process, &mut self.random);
            (0..20).for_each(|_| self.clients.ask_again(process, &mut self.random));
            take_turn(process);
            self.check()?;
            let request = &self.clients.requests[before];
            if request.acknowledged.is_none() && !request.is_denied {
                return Err(format!("k{before} got no clear answer"));
            }
        }
        self.audit.check_requests(&self.clients)?;
        let witness = with(|world| world.processes[0].witness_path());
        verify(&location(self.setting.is_shared), Some(witness.as_ref()), &mut |_, _| {})
            .map(drop)
            .map_err(|error| format!("the journal does not verify: {error}"))
    }
}
