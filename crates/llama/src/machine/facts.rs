//! What the system says about its memory and its disk.

use std::path::Path;
use sysinfo::{MemoryRefreshKind, RefreshKind, System};

/// The share of memory in use, in percent, above which a model that has nothing to do gives its memory back.
const PRESSURE_PERCENT: u64 = 85;

/// The machine in figures. Every rule is a function of these, so that a test can have any machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MachineFacts {
    /// Bytes of memory in all; those of the container, where there is a smaller limit.
    pub memory_total: u64,
    /// Bytes that could be had now, with the pages that the system would give up.
    pub memory_free: u64,
    /// Bytes that the GPU may use; `None` where models run on the CPU.
    pub device_memory: Option<u64>,
}

impl MachineFacts {
    /// Asks the system. Takes well under a millisecond.
    pub fn read() -> Self {
        let what = RefreshKind::nothing().with_memory(MemoryRefreshKind::nothing().with_ram());
        let system = System::new_with_specifics(what);
        let (mut total, mut free) = (system.total_memory(), system.available_memory());
        // It asserts that there is memory at all.
        if let Some(limits) = (total > 0).then(|| system.cgroup_limits()).flatten() {
            total = total.min(limits.total_memory);
            // Its own "free" counts the cache of files as used.
            free = free.min(total.saturating_sub(limits.rss));
        }
        let metal = cfg!(all(target_os = "macos", target_arch = "aarch64"));
        Self {
            memory_total: total,
            memory_free: free,
            device_memory: metal.then(|| metal_working_set(total)),
        }
    }

    /// Returns whether so much memory is in use that an idle model should go.
    pub fn is_under_pressure(&self) -> bool {
        let used = self.memory_total.saturating_sub(self.memory_free);
        used.saturating_mul(100) >= self.memory_total.saturating_mul(PRESSURE_PERCENT)
    }
}

/// Returns the bytes free on the disk of a folder, or of the nearest one above it that exists.
pub(crate) fn disk_free(folder: &Path) -> Option<u64> {
    folder.ancestors().find_map(|folder| fs4::available_space(folder).ok())
}

/// What Metal recommends as the largest working set (`recommendedMaxWorkingSetSize`), which only a program that links
/// Metal can ask for: about two thirds of the memory up to 36 GB and three quarters above, as people who measured it
/// report (10.7 GB of 16, 21.3 of 32, 48 of 64, 96 of 128).
fn metal_working_set(memory_total: u64) -> u64 {
    const GIB: u64 = 1 << 30;
    if memory_total <= 36 * GIB { memory_total / 3 * 2 } else { memory_total / 4 * 3 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_memory_and_a_disk() {
        let facts = MachineFacts::read();
        assert!(facts.memory_free > 0 && facts.memory_free <= facts.memory_total, "{facts:?}");
        let folder = tempfile::tempdir().unwrap();
        assert!(disk_free(&folder.path().join("not/yet/there")).unwrap() > 0);
    }

    #[test]
    fn metal_gets_a_part_of_the_memory() {
        let gib = |gib: u64| gib << 30;
        for (total, metal) in [(16, 10), (24, 16), (32, 21), (64, 48), (128, 96)] {
            assert_eq!(metal_working_set(gib(total)) >> 30, metal, "{total} GiB");
        }
    }

    #[test]
    fn pressure_begins_at_85_percent() {
        for (free, pressed) in [(16, false), (15, true), (0, true)] {
            let facts = MachineFacts { memory_total: 100, memory_free: free, device_memory: None };
            assert_eq!(facts.is_under_pressure(), pressed, "{free} of 100 free");
        }
    }
}
