//! Memory and disk of the system.

use std::path::Path;
#[cfg(target_os = "macos")]
use std::process::{Command, Stdio};
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
    /// Takes well under a millisecond.
    pub(crate) fn from_system() -> Self {
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

/// Memory pressure as the system reports it. The share of used memory is a poor measure: systems fill their memory, and
/// a loaded model is most of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pressure {
    Normal,
    /// Programs are waiting for memory.
    Warning,
    /// The system will soon kill programs.
    Critical,
}

/// The kernel's statistics of tasks that wait for memory (psi(7), "Pressure Stall Information").
#[cfg(target_os = "linux")]
const STALLS: &str = "/proc/pressure/memory";
/// Percentage of the last 10 s during which some tasks, or all of them, waited for memory.
#[cfg(any(target_os = "linux", test))]
const STALLED_PERCENT: f64 = 10.0;

impl Pressure {
    /// Reads the pressure from the system; `None` if the system does not report it.
    pub(crate) fn from_system() -> Option<Self> {
        #[cfg(target_os = "macos")]
        {
            // Runs a program, because the system call needs `unsafe`. This happens every 15 s while a model is loaded
            // and idle.
            let mut command = Command::new("/usr/sbin/sysctl");
            command.args(["-n", "kern.memorystatus_vm_pressure_level"]);
            let output = command.stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
            Self::from_level(&String::from_utf8_lossy(&output.stdout))
        }
        #[cfg(target_os = "linux")]
        {
            Self::from_stalls(&std::fs::read_to_string(STALLS).ok()?)
        }
        #[cfg(not(any(target_os = "macos", target_os = "linux")))]
        None
    }

    /// Derives the pressure from the available memory, which includes memory that the system can reclaim.
    pub(crate) fn from_available(machine: &MachineFacts) -> Self {
        let is_below = |part: u64| machine.memory_free < machine.memory_total / part;
        if is_below(50) {
            Self::Critical
        } else if is_below(20) {
            Self::Warning
        } else {
            Self::Normal
        }
    }

    /// Parses the level of macOS, as in `dispatch/source.h`: 1 normal, 2 warning, 4 critical.
    #[cfg(any(target_os = "macos", test))]
    fn from_level(printed: &str) -> Option<Self> {
        match printed.trim() {
            "1" => Some(Self::Normal),
            "2" => Some(Self::Warning),
            "4" => Some(Self::Critical),
            _ => None,
        }
    }

    #[cfg(any(target_os = "linux", test))]
    fn from_stalls(text: &str) -> Option<Self> {
        let percent = |tasks: &str| {
            let mut words = text.lines().find_map(|line| line.strip_prefix(tasks))?.split_whitespace();
            words.find_map(|word| word.strip_prefix("avg10="))?.parse::<f64>().ok()
        };
        let (some, full) = (percent("some ")?, percent("full ").unwrap_or_default());
        Some(if full >= STALLED_PERCENT {
            Self::Critical
        } else if some >= STALLED_PERCENT {
            Self::Warning
        } else {
            Self::Normal
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn from_system_reports_memory_and_disk() {
        let facts = MachineFacts::from_system();
        assert!(facts.memory_free > 0 && facts.memory_free <= facts.memory_total, "{facts:?}");
        let folder = tempfile::tempdir().unwrap();
        assert!(disk_free(&folder.path().join("not/yet/there")).unwrap() > 0);
    }

    #[test]
    fn metal_working_set_is_part_of_memory() {
        let gib = |gib: u64| gib << 30;
        for (total, metal) in [(16, 10), (24, 16), (32, 21), (64, 48), (128, 96)] {
            assert_eq!(metal_working_set(gib(total)) >> 30, metal, "{total} GiB");
        }
    }

    #[test]
    fn from_stalls_parses_linux_statistics() {
        let idle = "some avg10=0.00 avg60=0.02 avg300=0.06 total=3559803\n\
                    full avg10=0.00 avg60=0.00 avg300=0.00 total=2035340\n";
        let thrashing = "some avg10=61.19 avg60=24.86 avg300=6.23 total=32089144\n\
                         full avg10=54.03 avg60=21.65 avg300=5.40 total=27802117\n";
        let short = "some avg10=12.50 avg60=3.01 avg300=0.71 total=7160119\n\
                     full avg10=4.10 avg60=0.90 avg300=0.20 total=3110442\n";
        let over = "some avg10=0.35 avg60=18.77 avg300=9.54 total=33001921\n\
                    full avg10=0.20 avg60=15.10 avg300=8.02 total=28110338\n";
        let rows = [
            (idle, Some(Pressure::Normal)),
            (short, Some(Pressure::Warning)),
            (thrashing, Some(Pressure::Critical)),
            (over, Some(Pressure::Normal)),
            ("some avg10=10.00 avg60=0 avg300=0 total=1\n", Some(Pressure::Warning)),
            ("", None),
            ("some avg10=much\n", None),
            ("full avg10=99.00 avg60=0 avg300=0 total=1\n", None),
        ];
        for (text, expected) in rows {
            assert_eq!(Pressure::from_stalls(text), expected, "{text}");
        }
    }

    #[test]
    fn from_level_parses_macos_levels() {
        let rows = [
            ("1\n", Some(Pressure::Normal)),
            ("2\n", Some(Pressure::Warning)),
            ("4\n", Some(Pressure::Critical)),
            ("0\n", None),
            ("3\n", None),
            ("", None),
            ("sysctl: unknown oid 'kern.memorystatus_vm_pressure_level'\n", None),
        ];
        for (printed, expected) in rows {
            assert_eq!(Pressure::from_level(printed), expected, "{printed}");
        }
    }

    #[test]
    fn from_available_derives_pressure() {
        let rows = [
            (100, Pressure::Normal),
            (50, Pressure::Normal),
            (49, Pressure::Warning),
            (19, Pressure::Critical),
        ];
        for (memory_free, expected) in rows {
            let machine = MachineFacts { memory_total: 1_000, memory_free, device_memory: None };
            assert_eq!(Pressure::from_available(&machine), expected, "{memory_free} of 1000");
        }
    }

    /// Every system that this program is built for reports its pressure, except containers without `/proc/pressure`.
    #[test]
    fn from_system_reports_pressure() {
        let pressure = Pressure::from_system();
        if cfg!(target_os = "macos") || std::path::Path::new("/proc/pressure/memory").exists() {
            assert!(pressure.is_some());
        }
    }
}
