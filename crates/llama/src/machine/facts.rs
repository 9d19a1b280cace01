//! Memory and disk of the system.

use std::path::Path;
use sysinfo::{MemoryRefreshKind, RefreshKind, System};

/// Figures of the machine. Every rule is a function of these, so that tests can simulate any machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MachineFacts {
    /// Total memory in bytes; that of the container if its limit is smaller.
    pub(crate) memory_total: u64,
    /// Available memory in bytes, including reclaimable pages.
    pub(crate) memory_free: u64,
    /// Memory available to the GPU in bytes; `None` if models run on the CPU.
    pub(crate) device_memory: Option<u64>,
}

impl MachineFacts {
    /// Reads the figures from the system. Takes well under a millisecond.
    pub(crate) fn read() -> Self {
        let what = RefreshKind::nothing().with_memory(MemoryRefreshKind::nothing().with_ram());
        let system = System::new_with_specifics(what);
        let (mut total, mut free) = (system.total_memory(), system.available_memory());
        // `cgroup_limits` panics if the total memory is 0.
        if let Some(limits) = (total > 0).then(|| system.cgroup_limits()).flatten() {
            total = total.min(limits.total_memory);
            // The "free" value of the limits counts the page cache as used.
            free = free.min(total.saturating_sub(limits.rss));
        }
        let metal = cfg!(all(target_os = "macos", target_arch = "aarch64"));
        Self {
            memory_total: total,
            memory_free: free,
            device_memory: metal.then(|| metal_working_set(total)),
        }
    }
}

/// Returns the free disk space in bytes at a folder or its nearest existing parent.
pub(crate) fn disk_free(folder: &Path) -> Option<u64> {
    folder.ancestors().find_map(|folder| fs4::available_space(folder).ok())
}

/// Metal's recommended maximum working set (`recommendedMaxWorkingSetSize`), which can only be queried by linking
/// Metal: about two thirds of the memory up to 36 GB and three quarters above, according to published measurements
/// (10.7 GB of 16, 21.3 of 32, 48 of 64, 96 of 128).
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
}
