//! All that runs for one owner.

use super::group::{Group, Streams};
use std::{
    io,
    process::Command,
    sync::{Arc, Mutex, PoisonError, Weak},
};

/// The groups that an owner has started. Once it has ended them it starts no more.
#[derive(Debug, Default)]
pub(crate) struct Groups {
    running: Mutex<Running>,
}

#[derive(Debug, Default)]
struct Running {
    groups: Vec<Weak<Group>>,
    ended: bool,
}

impl Groups {
    /// Starts a command as the leader of a new group.
    pub(crate) fn start(&self, command: &mut Command) -> io::Result<(Arc<Group>, Streams)> {
        // Held until it is on the list: what starts meanwhile would outlive the end.
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if running.ended {
            return Err(io::Error::other("the program is about to end"));
        }
        let (group, streams) = Group::start(command)?;
        running.groups.retain(|group| group.upgrade().is_some_and(|group| group.ended().is_none()));
        running.groups.push(Arc::downgrade(&group));
        Ok((group, streams))
    }

    /// Ends all of them, those included that were told to end before. Blocks for little more than 2 s at most.
    pub(crate) fn end(&self) {
        let groups: Vec<_> = {
            let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
            running.ended = true;
            running.groups.drain(..).filter_map(|group| group.upgrade()).collect()
        };
        Group::stop_all(&groups);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{process::Stdio, time::Duration};

    #[test]
    fn the_end_of_all_waits_for_what_is_ending_and_lets_nothing_start() {
        let groups = Groups::default();
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "trap '' TERM; echo; while :; do sleep 1; done"]);
        let (group, streams) = groups.start(command.stdout(Stdio::piped())).unwrap();
        io::Read::read_exact(&mut streams.stdout.unwrap(), &mut [0]).unwrap();
        group.stop_soon();
        let watched = Arc::downgrade(&group);
        drop(group);
        groups.end();
        // Whoever waited for it in a thread of its own may not be through.
        let status = watched.upgrade().map(|group| group.wait(Duration::ZERO));
        assert_ne!(status, Some(None));
        assert!(groups.start(&mut command).is_err());
    }
}
