//! All process groups of one owner.

use super::{
    family::Family,
    group::{Group, Streams},
};
use crate::limits::STOP_GRACE;
use parking_lot::Mutex;
use rustix::process::Signal;
use std::{
    io,
    process::Command,
    sync::{Arc, Weak},
};

/// The process groups of an owner. Once stopped, no more can be started.
#[derive(Debug, Default)]
pub(crate) struct Groups {
    running: Mutex<Running>,
}

#[derive(Debug, Default)]
struct Running {
    groups: Vec<Weak<Group>>,
    /// Detached processes.
    left: Family,
    ended: bool,
}

impl Groups {
    /// Starts a command as the leader of a new group.
    pub(crate) fn start(&self, command: &mut Command) -> io::Result<(Arc<Group>, Streams)> {
        // Held until the group is in the list: otherwise a process started in the meantime would not be stopped.
        let mut running = self.running.lock();
        if running.ended {
            return Err(io::Error::other("OpenAgents is shutting down"));
        }
        let (group, streams) = Group::start_marked(command)?;
        running.groups.retain(|group| group.upgrade().is_some_and(|group| group.ended().is_none()));
        running.groups.push(Arc::downgrade(&group));
        Ok((group, streams))
    }

    /// Detaches processes that a group started in other sessions, such as a server. They keep running when the group
    /// stops, until [`Self::end`].
    pub(crate) fn let_go(&self, group: &Group) {
        let left = group.let_go();
        self.running.lock().left.extend(left);
    }

    /// Stops all groups, including those already stopping, and detached processes. Blocks for little more than 2 s.
    pub(crate) fn end(&self) {
        let (groups, left) = {
            let mut running = self.running.lock();
            running.ended = true;
            let groups: Vec<_> = running.groups.drain(..).filter_map(|group| group.upgrade()).collect();
            (groups, std::mem::take(&mut running.left))
        };
        std::thread::scope(|scope| {
            scope.spawn(|| {
                left.signal(Signal::TERM);
                left.wait(STOP_GRACE);
                left.signal(Signal::KILL);
            });
            Group::stop_all(&groups);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{process::Stdio, time::Duration};

    #[test]
    fn end_waits_for_stopping_groups_and_prevents_new_ones() {
        let groups = Groups::default();
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "trap '' TERM; echo; while :; do sleep 1; done"]);
        let (group, streams) = groups.start(command.stdout(Stdio::piped())).unwrap();
        io::Read::read_exact(&mut streams.stdout.unwrap(), &mut [0]).unwrap();
        group.stop_soon();
        let watched = Arc::downgrade(&group);
        drop(group);
        groups.end();
        // Another thread waiting for the group may not have returned yet.
        let status = watched.upgrade().map(|group| group.wait(Duration::ZERO));
        assert_ne!(status, Some(None));
        assert!(groups.start(&mut command).is_err());
    }
}
