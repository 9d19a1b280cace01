//! Runs independent work on a few threads.

use parking_lot::Mutex;
use std::{
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

/// Calls `work` with every number below `count`, in order, on at most `threads` threads, each with its own `state`,
/// while `goes_on` returns true. Returns the results by number; `None` for numbers without a result.
pub fn map<S, T: Send>(
    count: usize,
    threads: usize,
    goes_on: impl Fn() -> bool + Sync,
    state: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, usize) -> Option<T> + Sync,
) -> Vec<Option<T>> {
    let next = AtomicUsize::new(0);
    let results = Mutex::new((0..count).map(|_| None).collect::<Vec<_>>());
    let run = || {
        let mut state = state();
        while goes_on() {
            let at = next.fetch_add(1, Ordering::Relaxed);
            if at >= count {
                break;
            }
            let result = work(&mut state, at);
            results.lock()[at] = result;
        }
    };
    thread::scope(|scope| {
        // If no other thread starts, this one does all the work.
        (1..threads.min(count)).for_each(|_| drop(thread::Builder::new().spawn_scoped(scope, run)));
        run();
    });
    results.into_inner()
}
