//! Many episodes, one after the other.

use std::path::PathBuf;
use std::time::Instant;

use fastrand::Rng;
use taximeter_testing::SimulatedRun;

use super::defects::Defect;
use super::edges::{enter, leave, with};
use super::episode::Episode;
use super::faults::EpisodeSetting;
use super::world::{Counts, SimulatedWorld, WITNESS};
use crate::hash::Hash;
use crate::journal::{LedgerId, Position};
use crate::witness::{Sharing, Testimony, Witness, newest};

/// How many steps an episode has. Its journal stays short, so that making all of it again takes no time.
const STEPS: u64 = 500;

/// Runs the episode of a seed. The error says which step broke what.
fn run(seed: u64, steps: u64, defect: Option<Defect>) -> Result<Counts, String> {
    let mut episode = Episode::new(seed);
    with(|world| world.defect = defect);
    let result = play(&mut episode, steps);
    let counts = with(|world| world.counts);
    result.map(|()| counts).map_err(|why| format!("{why} ({:?})", episode.setting))
}

fn play(episode: &mut Episode, steps: u64) -> Result<(), String> {
    episode.begin()?;
    with(|world| world.is_calm = false);
    for step in 1..=steps {
        episode.step();
        episode.check().map_err(|why| format!("step {step}: {why}"))?;
    }
    let ended = episode.calm_down().and_then(|()| episode.end());
    ended.map_err(|why| format!("in the calm after {steps} steps: {why}"))
}

/// Runs the episodes of seeds from one on, until they add up to that many steps. The error names the seed of the one that failed.
fn simulate(seed: u64, steps: u64, defect: Option<Defect>) -> Result<Counts, String> {
    let mut all = Counts::default();
    for at in 0..steps.div_ceil(STEPS) {
        let seed = seed.wrapping_add(at);
        let length = STEPS.min(steps - at * STEPS);
        let counts = run(seed, length, defect).map_err(|why| format!("seed {seed}: {why}"))?;
        all.add(counts);
    }
    Ok(all)
}

/// One short run, and a long one by `cargo xtask simulate`.
#[test]
fn nothing_acknowledged_is_lost_whatever_goes_wrong() {
    let SimulatedRun { seed, steps } = SimulatedRun::wanted(40_000);
    let started = Instant::now();
    let result = simulate(seed, steps, None);
    let seconds = started.elapsed().as_secs_f64();
    match result {
        Ok(counts) => {
            println!("{steps} steps in {seconds:.1} s, {:.0} each second: {counts:?}", steps as f64 / seconds)
        }
        Err(why) => {
            let failed = why.split(|c: char| !c.is_ascii_digit()).find(|part| !part.is_empty()).unwrap_or("1");
            panic!("{why}\nto repeat it: cargo xtask simulate --seed {failed} --steps {STEPS}");
        }
    }
}

#[test]
fn a_seed_repeats_an_episode_exactly() {
    for seed in 0..5 {
        let counts = || run(seed, STEPS, None).unwrap();
        assert_eq!(counts(), counts());
    }
}

/// Found by seed 920: the sync of a witness failed and its process stopped. The next process saw the newest line in the memory of the
/// machine, synced the file, which wrote nothing, and acknowledged a record that the witness on disk did not have.
#[test]
fn a_witness_line_whose_sync_failed_is_written_again() {
    let setting =
        EpisodeSetting { is_shared: false, processes: 1, cosigners: 0, demanded: 0, rarity: 1, overlap: false };
    enter(SimulatedWorld::new(Rng::with_seed(1), setting));
    let path = PathBuf::from(format!("/simulated/0/{WITNESS}"));
    let ledger = LedgerId::parse(&"7".repeat(32)).unwrap();
    let at =
        |sequence: u64| Testimony { ledger, position: Position { sequence, hash: Hash::of(&sequence.to_le_bytes()) } };
    drop(Witness::create(&path, at(0), Sharing::Alone).unwrap());
    let mut failed = 0;
    for sequence in 1..3_000 {
        let mut witness = Witness::open(&path, Sharing::Alone).unwrap();
        with(|world| world.is_calm = false);
        let result = witness.advance(at(sequence));
        with(|world| world.is_calm = true);
        if result.is_err() {
            failed += 1;
            Witness::open(&path, Sharing::Alone).unwrap().advance(at(sequence)).unwrap();
        }
        let on_disk = with(|world| newest(world.disks[0].on_platter(WITNESS)).map(|(_, line)| line.testimony));
        assert_eq!(on_disk, Some(at(sequence)));
    }
    assert!(failed > 10, "{failed} failures");
    leave();
}

#[test]
fn every_planted_defect_is_found() {
    for defect in Defect::ALL {
        let started = Instant::now();
        let why = simulate(1, 2_000 * STEPS, Some(defect)).expect_err(&format!("{defect:?} was not found"));
        println!("{defect:?} after {:.1} s: {why}", started.elapsed().as_secs_f64());
    }
}

impl Counts {
    fn add(&mut self, more: Counts) {
        self.crashes += more.crashes;
        self.power_cuts += more.power_cuts;
        self.failed_syncs += more.failed_syncs;
        self.lost_requests += more.lost_requests;
        self.interleaved += more.interleaved;
    }
}
