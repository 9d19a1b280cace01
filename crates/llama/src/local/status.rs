//! The status of a model, as a pure function of the state.

use openagents_core::model::ModelStatus;

/// The transfer of a model's file.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) enum Work {
    #[default]
    None,
    Downloading {
        done: u64,
        total: u64,
        per_second: u64,
    },
    Verifying(f32),
    Failed(String),
}

/// The engine's activity for a model.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) enum Run {
    #[default]
    Out,
    Loading(f32),
    Ready,
    Generating,
    Failed(String),
}

/// A model's file on disk.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum OnDisk {
    Nothing,
    /// An unfinished download.
    Part {
        done: u64,
        total: u64,
    },
    Whole,
    Unusable(String),
}

/// Returns the status for a card: activity first, then errors, then the file.
pub(super) fn status(work: &Work, run: &Run, on_disk: &OnDisk) -> ModelStatus {
    match (work, run, on_disk) {
        (&Work::Downloading { done, total, per_second }, ..) => {
            ModelStatus::Downloading { done, total, bytes_per_second: per_second }
        }
        (_, &Run::Loading(progress), _) => ModelStatus::Loading { progress },
        (_, Run::Generating, _) => ModelStatus::Generating,
        (&Work::Verifying(progress), ..) => ModelStatus::Verifying { progress },
        (Work::Failed(reason), ..) | (_, Run::Failed(reason), _) => {
            ModelStatus::Error { reason: reason.clone() }
        }
        (_, Run::Ready, _) => ModelStatus::Ready,
        (.., OnDisk::Unusable(reason)) => ModelStatus::Error { reason: reason.clone() },
        (.., OnDisk::Whole) => ModelStatus::NotLoaded,
        (.., &OnDisk::Part { done, total }) => ModelStatus::Paused { done, total },
        (.., OnDisk::Nothing) => ModelStatus::NotDownloaded,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn activity_comes_before_errors_and_errors_before_the_file() {
        let downloading = Work::Downloading { done: 1, total: 4, per_second: 1 };
        let part = OnDisk::Part { done: 1, total: 4 };
        let broken = || OnDisk::Unusable("broken".to_owned());
        let error = |reason: &str| ModelStatus::Error { reason: reason.to_owned() };
        let rows = [
            (Work::None, Run::Out, OnDisk::Nothing, ModelStatus::NotDownloaded),
            (Work::None, Run::Out, part.clone(), ModelStatus::Paused { done: 1, total: 4 }),
            (Work::None, Run::Out, OnDisk::Whole, ModelStatus::NotLoaded),
            (Work::None, Run::Out, broken(), error("broken")),
            (
                downloading.clone(),
                Run::Out,
                part.clone(),
                ModelStatus::Downloading { done: 1, total: 4, bytes_per_second: 1 },
            ),
            (Work::Verifying(0.5), Run::Out, OnDisk::Whole, ModelStatus::Verifying { progress: 0.5 }),
            (Work::Verifying(0.5), Run::Ready, OnDisk::Whole, ModelStatus::Verifying { progress: 0.5 }),
            (Work::Verifying(0.5), Run::Generating, OnDisk::Whole, ModelStatus::Generating),
            (Work::Failed("no network".to_owned()), Run::Out, part, error("no network")),
            (Work::None, Run::Loading(0.4), OnDisk::Whole, ModelStatus::Loading { progress: 0.4 }),
            (Work::None, Run::Ready, OnDisk::Whole, ModelStatus::Ready),
            (Work::None, Run::Generating, broken(), ModelStatus::Generating),
            (Work::None, Run::Failed("crashed".to_owned()), OnDisk::Whole, error("crashed")),
        ];
        for (work, run, on_disk, expected) in rows {
            assert_eq!(status(&work, &run, &on_disk), expected, "{work:?} {run:?} {on_disk:?}");
        }
    }
}
