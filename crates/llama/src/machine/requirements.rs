//! What a model asks of the machine. Pure: figures in, sentences out, each with a remedy and without a full stop.

use super::MachineFacts;
use crate::gguf::Header;

/// gpt-oss-20b: its file has 12.1 GB; that of its larger sister has 63.
const GPT_OSS_FILE: std::ops::RangeInclusive<u64> = 10_000_000_000..=16_000_000_000;
/// gpt-oss-20b: memory in all without which it is refused.
const GPT_OSS_MEMORY: u64 = 16_000_000_000;
/// gpt-oss-20b: memory in all below which it is slow.
const GPT_OSS_RECOMMENDED: u64 = 24_000_000_000;
/// gpt-oss-20b: free memory without which it is refused.
const GPT_OSS_FREE: u64 = 4_000_000_000;
/// Room for what is computed on: about 0.4 GiB at 512 tokens a step, and the program itself.
const SCRATCH: u64 = 1 << 30;
/// A file of this size is gpt-oss-20b's or larger; before its download the disk must have [`LARGE_DISK`].
const LARGE_FILE: u64 = 10_000_000_000;
const LARGE_DISK: u64 = 25_000_000_000;

/// What a model needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Demand {
    /// The figures that its makers give hold, rather than those that follow from the file.
    pub gpt_oss_20b: bool,
    /// Bytes of the file.
    pub file_bytes: u64,
    /// Bytes that attention keeps for one token.
    pub cache_bytes_per_token: u64,
    /// Tokens that it was trained for.
    pub context_length: Option<u64>,
}

impl Demand {
    /// Returns what a file needs.
    pub fn of(header: &Header) -> Self {
        Self {
            gpt_oss_20b: header.architecture == "gpt-oss" && GPT_OSS_FILE.contains(&header.file_bytes),
            file_bytes: header.file_bytes,
            cache_bytes_per_token: header.cache_bytes_per_token(),
            context_length: header.context_length,
        }
    }

    /// The same for a file of another size.
    pub(crate) fn of_size(self, file_bytes: u64) -> Self {
        Self { gpt_oss_20b: self.gpt_oss_20b && GPT_OSS_FILE.contains(&file_bytes), file_bytes, ..self }
    }

    /// Returns the bytes that are left for the context on this machine.
    pub(super) fn room(&self, machine: &MachineFacts) -> u64 {
        let beside_the_file = |bytes: u64| bytes.saturating_sub(self.file_bytes);
        let room = match (machine.device_memory, self.gpt_oss_20b) {
            (Some(device), true) => beside_the_file(device),
            (Some(device), false) => beside_the_file(device.min(machine.memory_free)),
            // On the CPU the file is mapped, and the rule of 4 GB leaves it out of the count too.
            (None, true) => machine.memory_free,
            (None, false) => beside_the_file(machine.memory_free),
        };
        room.saturating_sub(SCRATCH)
    }

    fn bytes(&self, context_tokens: u32) -> u64 {
        let cache = self.cache_bytes_per_token.saturating_mul(u64::from(context_tokens));
        self.file_bytes.saturating_add(cache).saturating_add(SCRATCH)
    }
}

/// Whether a model can run here.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Why it cannot.
    pub refusal: Option<String>,
    /// Why it will run badly.
    pub warning: Option<String>,
}

/// Returns whether a model can be loaded for so many tokens. For a machine on which it is not loaded yet.
pub fn to_run(demand: &Demand, context_tokens: u32, machine: &MachineFacts) -> Verdict {
    let needed = demand.bytes(context_tokens);
    let refusal = if demand.gpt_oss_20b && machine.memory_total < GPT_OSS_MEMORY {
        let has = gb(machine.memory_total);
        Some(format!(
            "it needs a machine with {} of memory and this one has {has}; add a smaller model with `openagents models add FILE`",
            gb(GPT_OSS_MEMORY)
        ))
    } else if machine.device_memory.is_some_and(|device| device < needed) {
        let has = gb(machine.device_memory.unwrap_or_default());
        Some(format!(
            "it needs {} of GPU memory for a context of {context_tokens} tokens and the GPU has {has}; use a smaller model or context ({}=N)",
            gb(needed),
            super::CONTEXT_VARIABLE
        ))
    } else {
        let free = if demand.gpt_oss_20b { GPT_OSS_FREE } else { needed };
        (machine.memory_free < free).then(|| {
            let has = gb(machine.memory_free);
            format!(
                "it needs {} of free memory and {has} are free; close other programs or use a smaller model",
                gb(free)
            )
        })
    };
    let warning = (demand.gpt_oss_20b && refusal.is_none() && machine.memory_total < GPT_OSS_RECOMMENDED)
        .then(|| {
            let has = gb(machine.memory_total);
            format!(
                "{} of memory are recommended and this machine has {has}: it may run slowly",
                gb(GPT_OSS_RECOMMENDED)
            )
        });
    Verdict { refusal, warning }
}

/// Returns the bytes that the disk must have before a file of this size is downloaded.
pub fn disk_for(file_bytes: u64) -> u64 {
    let beside = file_bytes.saturating_add(1 << 30);
    if file_bytes >= LARGE_FILE { beside.max(LARGE_DISK) } else { beside }
}

/// Returns why a file cannot be downloaded. `done` bytes of it are on the disk already.
pub fn to_download(file_bytes: u64, done: u64, disk_free: u64) -> Option<String> {
    let needed = disk_for(file_bytes).saturating_sub(done);
    (disk_free < needed).then(|| {
        format!("the download needs {} of free disk and {} are free; delete something or set OPENAGENTS_HOME to another disk", gb(needed), gb(disk_free))
    })
}

/// Returns what to do when the disk is full and so many bytes are still to come.
pub fn disk_full(missing: u64) -> String {
    // A little more than enough, so that nobody is sent away twice.
    format!("the disk is full; free {} and download again to go on", gb(missing.saturating_add(1 << 30)))
}

/// `4.0 GB`, in powers of ten as shops and the system's own settings have it.
fn gb(bytes: u64) -> String {
    let tenths = bytes / 100_000_000;
    format!("{}.{} GB", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GPT_OSS: Demand = Demand {
        gpt_oss_20b: true,
        file_bytes: 12_109_566_624,
        cache_bytes_per_token: 48 * 1024,
        context_length: Some(131_072),
    };
    const SMALL: Demand = Demand {
        gpt_oss_20b: false,
        file_bytes: 98_362_432,
        cache_bytes_per_token: 23_040,
        context_length: Some(8_192),
    };

    fn machine(total: u64, free: u64, device: Option<u64>) -> MachineFacts {
        MachineFacts {
            memory_total: total * 100_000_000,
            memory_free: free * 100_000_000,
            device_memory: device.map(|device| device * 100_000_000),
        }
    }

    #[test]
    fn every_reason_can_be_acted_on() {
        let rows = [
            ("enough of everything", GPT_OSS, machine(320, 200, Some(213))),
            ("too small a machine", GPT_OSS, machine(159, 120, None)),
            ("just large enough, but slow", GPT_OSS, machine(160, 40, None)),
            ("too full", GPT_OSS, machine(240, 39, None)),
            ("a Mac of 16 GB", GPT_OSS, machine(172, 100, Some(114))),
            ("a small model on a small machine", SMALL, machine(20, 15, None)),
            ("a small model on a full machine", SMALL, machine(20, 12, None)),
        ];
        let told: Vec<String> = rows
            .iter()
            .map(|(row, demand, machine)| {
                let Verdict { refusal, warning } = to_run(demand, 8_192, machine);
                format!("{row}: {}", refusal.or(warning).unwrap_or_else(|| "yes".to_owned()))
            })
            .collect();
        insta::assert_snapshot!(told.join("\n"), @"
    enough of everything: yes
    too small a machine: it needs a machine with 16.0 GB of memory and this one has 15.9 GB; add a smaller model with `openagents models add FILE`
    just large enough, but slow: 24.0 GB of memory are recommended and this machine has 16.0 GB: it may run slowly
    too full: it needs 4.0 GB of free memory and 3.9 GB are free; close other programs or use a smaller model
    a Mac of 16 GB: it needs 13.5 GB of GPU memory for a context of 8192 tokens and the GPU has 11.4 GB; use a smaller model or context (OPENAGENTS_LLAMA_CONTEXT=N)
    a small model on a small machine: yes
    a small model on a full machine: it needs 1.3 GB of free memory and 1.2 GB are free; close other programs or use a smaller model
    ");
    }

    #[test]
    fn a_download_leaves_room_on_the_disk() {
        assert_eq!(disk_for(GPT_OSS.file_bytes), 25_000_000_000);
        assert_eq!(disk_for(100), 100 + (1 << 30));
        assert_eq!(to_download(GPT_OSS.file_bytes, 0, 25_000_000_000), None);
        assert_eq!(to_download(GPT_OSS.file_bytes, 12_000_000_000, 13_000_000_000), None);
        let told = to_download(GPT_OSS.file_bytes, 0, 24_999_999_999).unwrap();
        insta::assert_snapshot!(told, @"the download needs 25.0 GB of free disk and 24.9 GB are free; delete something or set OPENAGENTS_HOME to another disk");
    }
}
