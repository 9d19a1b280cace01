//! Memory of a process as reported by the operating system.

use sysinfo::{Pid, ProcessRefreshKind, ProcessesToUpdate, System};

/// Returns the resident memory of a process in bytes; `None` if there is no such process.
pub fn resident_bytes(process: u32) -> Option<u64> {
    let pid = Pid::from_u32(process);
    let mut system = System::new();
    let kind = ProcessRefreshKind::nothing().with_memory().without_tasks();
    system.refresh_processes_specifics(ProcessesToUpdate::Some(&[pid]), true, kind);
    system.process(pid).map(sysinfo::Process::memory)
}

#[cfg(test)]
mod tests {
    #[test]
    fn only_existing_processes_have_memory() {
        assert!(super::resident_bytes(std::process::id()).unwrap() > 1 << 20);
        assert_eq!(super::resident_bytes(u32::MAX - 1), None);
    }
}
