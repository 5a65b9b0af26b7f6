//! A simulated disk: what was written, what of it is on the platter, and what a power cut leaves.

use std::collections::{BTreeSet, HashMap};

use fastrand::Rng;

/// What a disk writes as a whole.
const SECTOR: usize = 512;

/// The files of one machine, by their names.
#[derive(Clone, Default)]
pub(super) struct SimulatedDisk {
    files: HashMap<String, DiskFile>,
}

/// A file as programs see it, and as a power cut would leave it.
#[derive(Clone, Default)]
struct DiskFile {
    /// In the memory of the machine.
    seen: Vec<u8>,
    /// On the platter.
    kept: Vec<u8>,
    /// The sectors where the two may differ.
    apart: BTreeSet<usize>,
    /// Those of them that the next sync writes. After a sync that failed the others are never written, though programs still see them.
    unsynced: BTreeSet<usize>,
}

impl SimulatedDisk {
    pub(super) fn has(&self, name: &str) -> bool {
        self.files.contains_key(name)
    }

    /// The bytes that programs see.
    pub(super) fn read(&self, name: &str) -> &[u8] {
        self.files.get(name).map_or(&[], |file| &file.seen)
    }

    /// The bytes that a power cut leaves at least.
    pub(super) fn on_platter(&self, name: &str) -> &[u8] {
        self.files.get(name).map_or(&[], |file| &file.kept)
    }

    /// How many bytes from the beginning are certain to survive a power cut. A sector that is written again keeps the bytes in it that
    /// stay the same.
    pub(super) fn certain(&self, name: &str) -> usize {
        let Some(file) = self.files.get(name) else { return 0 };
        for sector in &file.apart {
            let seen = file.seen.iter().enumerate().skip(sector * SECTOR).take(SECTOR);
            if let Some((at, _)) = seen.into_iter().find(|(at, byte)| file.kept.get(*at) != Some(byte)) {
                return at;
            }
        }
        file.seen.len()
    }

    pub(super) fn write(&mut self, name: &str, at: usize, bytes: &[u8]) {
        let file = self.files.entry(name.to_string()).or_default();
        let end = at + bytes.len();
        if file.seen.len() < end {
            file.seen.resize(end, 0);
        }
        file.seen[at..end].copy_from_slice(bytes);
        let sectors = at / SECTOR..end.div_ceil(SECTOR);
        file.apart.extend(sectors.clone());
        file.unsynced.extend(sectors);
    }

    /// Brings what was written to the platter.
    pub(super) fn sync(&mut self, name: &str) {
        let Some(file) = self.files.get_mut(name) else { return };
        for sector in std::mem::take(&mut file.unsynced) {
            file.keep(sector);
            file.apart.remove(&sector);
        }
    }

    /// A sync that fails: some sectors may be on the platter, and the others never will be.
    pub(super) fn fail_to_sync(&mut self, name: &str, random: &mut Rng) {
        let Some(file) = self.files.get_mut(name) else { return };
        for sector in std::mem::take(&mut file.unsynced) {
            if random.bool() {
                file.keep(sector);
                file.apart.remove(&sector);
            }
        }
    }

    /// Writes again all that may not be on the platter, so that the next sync brings it there.
    pub(super) fn write_again(&mut self, name: &str) {
        if let Some(file) = self.files.get_mut(name) {
            file.unsynced = file.apart.clone();
        }
    }

    /// The power is cut. Sectors that were not synced are dropped, all kept, or torn apart.
    pub(super) fn cut_power(&mut self, random: &mut Rng) {
        let fate = random.u8(..3);
        let mut names: Vec<&String> = self.files.keys().collect();
        names.sort();
        let names: Vec<String> = names.into_iter().cloned().collect();
        for name in names {
            let Some(file) = self.files.get_mut(&name) else { continue };
            for sector in std::mem::take(&mut file.apart) {
                if fate == 1 || (fate == 2 && random.bool()) {
                    file.keep(sector);
                }
            }
            file.unsynced.clear();
            file.seen = file.kept.clone();
        }
    }
}

impl DiskFile {
    /// Puts a sector on the platter.
    fn keep(&mut self, sector: usize) {
        let (from, to) = (sector * SECTOR, ((sector + 1) * SECTOR).min(self.seen.len()));
        if from >= to {
            return;
        }
        if self.kept.len() < to {
            self.kept.resize(to, 0);
        }
        self.kept[from..to].copy_from_slice(&self.seen[from..to]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_synced_survives_and_the_rest_is_kept_dropped_or_torn_by_sectors() {
        let mut ends = BTreeSet::new();
        for seed in 0..100 {
            let mut disk = SimulatedDisk::default();
            disk.write("file", 0, &[1; 1000]);
            disk.sync("file");
            assert_eq!(disk.certain("file"), 1000);
            disk.write("file", 600, &[2; 1400]);
            assert_eq!(disk.certain("file"), 600);
            disk.cut_power(&mut Rng::with_seed(seed));
            let left = disk.read("file");
            assert_eq!(&left[..600], &[1; 600]);
            for from in [1024, 1536] {
                let sector = &left[from.min(left.len())..(from + SECTOR).min(left.len())];
                assert!(sector.iter().all(|byte| *byte == 2) || sector.iter().all(|byte| *byte == 0), "torn within");
            }
            ends.insert((left.len(), left[600], left.get(1024).copied()));
        }
        // Nothing, everything, and the four ways between that have the last sector or not.
        assert!(ends.len() >= 6, "{ends:?}");
    }

    #[test]
    fn what_a_failed_sync_was_about_is_written_only_if_it_is_written_again() {
        for seed in 0..20 {
            let mut disk = SimulatedDisk::default();
            let random = &mut Rng::with_seed(seed);
            disk.write("file", 0, &[1; 5120]);
            disk.fail_to_sync("file", random);
            let certain = disk.certain("file");
            disk.sync("file");
            assert_eq!(disk.certain("file"), certain);
            disk.write_again("file");
            disk.sync("file");
            assert_eq!(disk.certain("file"), 5120);
        }
    }
}
