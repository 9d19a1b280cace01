//! Requirements of a model. Pure functions from figures to sentences, each with a remedy and without a full stop.

use super::facts::MachineFacts;
use crate::{
    gguf::Header,
    limits::{CONTEXT_OVERRIDES, CONTEXTS, DISK_MARGIN, SCRATCH},
};

/// File size of gpt-oss-20b: 12.1 GB; that of gpt-oss-120b is 63.
const GPT_OSS_FILE: std::ops::RangeInclusive<u64> = 10_000_000_000..=16_000_000_000;
const GPT_OSS_MEMORY: u64 = 16_000_000_000;
const GPT_OSS_RECOMMENDED: u64 = 24_000_000_000;
const GPT_OSS_FREE: u64 = 4_000_000_000;
/// Minimum size of a large file such as gpt-oss-20b; its download requires [`LARGE_DISK`].
const LARGE_FILE: u64 = 10_000_000_000;
const LARGE_DISK: u64 = 25_000_000_000;

/// Environment variable that overrides the context length, in tokens.
pub(crate) const CONTEXT_VARIABLE: &str = "OPENAGENTS_LLAMA_CONTEXT";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Demand {
    /// Whether to use the requirements stated by its makers, rather than computing them from the file.
    pub(crate) gpt_oss_20b: bool,
    pub(crate) file_bytes: u64,
    pub(crate) cache_bytes_per_token: u64,
    pub(crate) context_length: Option<u64>,
}

impl Demand {
    pub(crate) fn from_header(header: &Header) -> Self {
        Self {
            gpt_oss_20b: header.architecture == "gpt-oss" && GPT_OSS_FILE.contains(&header.file_bytes),
            file_bytes: header.file_bytes,
            cache_bytes_per_token: header.cache_bytes_per_token(),
            context_length: header.context_length,
        }
    }

    pub(crate) fn with_file_size(self, file_bytes: u64) -> Self {
        Self { gpt_oss_20b: self.gpt_oss_20b && GPT_OSS_FILE.contains(&file_bytes), file_bytes, ..self }
    }

    pub(super) fn room(&self, machine: &MachineFacts) -> u64 {
        let beside_the_file = |bytes: u64| bytes.saturating_sub(self.file_bytes);
        let room = match (machine.device_memory, self.gpt_oss_20b) {
            (Some(device), true) => beside_the_file(device),
            (Some(device), false) => beside_the_file(device.min(machine.memory_free)),
            // On the CPU the file is mapped, and the 4 GB minimum does not include it.
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

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) refusal: Option<String>,
    pub(crate) warning: Option<String>,
}

/// Checks whether a model can be loaded with a context. Assumes it is not loaded yet.
pub(crate) fn check_memory(demand: &Demand, context_tokens: u32, machine: &MachineFacts) -> Verdict {
    let needed = demand.bytes(context_tokens);
    let refusal = if demand.gpt_oss_20b && machine.memory_total < GPT_OSS_MEMORY {
        let has = gigabytes(machine.memory_total);
        Some(format!(
            "it needs a machine with {} of memory, but this one has {has}; add a smaller model with `openagents models add FILE`",
            gigabytes(GPT_OSS_MEMORY)
        ))
    } else if machine.device_memory.is_some_and(|device| device < needed) {
        let has = gigabytes(machine.device_memory.unwrap_or_default());
        Some(format!(
            "it needs {} of GPU memory for a context of {context_tokens} tokens, but the GPU has {has}; use a smaller model or context ({}=N)",
            gigabytes(needed),
            CONTEXT_VARIABLE
        ))
    } else {
        let free = if demand.gpt_oss_20b { GPT_OSS_FREE } else { needed };
        (machine.memory_free < free).then(|| {
            let has = gigabytes(machine.memory_free);
            format!(
                "it needs {} of free memory, but only {has} is free; close other programs or use a smaller model",
                gigabytes(free)
            )
        })
    };
    let warning = (demand.gpt_oss_20b && refusal.is_none() && machine.memory_total < GPT_OSS_RECOMMENDED)
        .then(|| {
            let has = gigabytes(machine.memory_total);
            format!(
                "{} of memory is recommended, but this machine has {has}: it may run slowly",
                gigabytes(GPT_OSS_RECOMMENDED)
            )
        });
    Verdict { refusal, warning }
}

pub(crate) fn disk_required(file_bytes: u64) -> u64 {
    let required = file_bytes.saturating_add(DISK_MARGIN);
    if file_bytes >= LARGE_FILE { required.max(LARGE_DISK) } else { required }
}

/// Returns why a file cannot be downloaded. `done` bytes of it are already on disk.
pub(crate) fn check_disk(file_bytes: u64, done: u64, disk_free: u64) -> Option<String> {
    let needed = disk_required(file_bytes).saturating_sub(done);
    (disk_free < needed).then(|| {
        format!("the download needs {} of free disk space, but only {} is free; delete some files or set OPENAGENTS_HOME to another disk", gigabytes(needed), gigabytes(disk_free))
    })
}

/// Returns the remedy for a full disk with `missing` bytes still to come.
pub(crate) fn disk_full(missing: u64) -> String {
    // Adds a margin, so that one attempt suffices.
    format!(
        "the disk is full; free {} and download again to resume",
        gigabytes(missing.saturating_add(DISK_MARGIN))
    )
}

/// `4.0 GB`, in powers of ten, like the system settings.
fn gigabytes(bytes: u64) -> String {
    let tenths = bytes / 100_000_000;
    format!("{}.{} GB", tenths / 10, tenths % 10)
}

/// Parses [`CONTEXT_VARIABLE`]; invalid values are logged and ignored.
pub(crate) fn parse_context(asked: &str) -> Option<u32> {
    let asked = Some(asked.trim()).filter(|asked| !asked.is_empty())?;
    let tokens = asked.parse().ok().filter(|tokens| CONTEXT_OVERRIDES.contains(tokens));
    if tokens.is_none() {
        tracing::warn!("{CONTEXT_VARIABLE} is {asked:?}; use a number of tokens from 256 to 1048576");
    }
    tokens
}

/// Returns the largest context that fits into memory along with the model, up to the trained length, or the smallest
/// one if none fits. `asked` takes precedence: see [`parse_context`].
pub(crate) fn context_tokens(demand: &Demand, machine: &MachineFacts, asked: Option<u32>) -> u32 {
    if let Some(asked) = asked {
        return asked;
    }
    let trained = demand.context_length.and_then(|tokens| u32::try_from(tokens).ok()).unwrap_or(u32::MAX);
    let room = demand.room(machine);
    let fits = |tokens: &u32| demand.cache_bytes_per_token.saturating_mul(u64::from(*tokens)) <= room;
    let sizes = CONTEXTS.map(|tokens| tokens.min(trained).max(1));
    sizes.iter().copied().find(fits).unwrap_or(sizes[CONTEXTS.len() - 1])
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
    fn check_memory_reasons_have_remedies() {
        let rows = [
            ("enough of everything", GPT_OSS, machine(320, 200, Some(213))),
            ("too small a machine", GPT_OSS, machine(159, 120, None)),
            ("just large enough, but slow", GPT_OSS, machine(160, 40, None)),
            ("too full", GPT_OSS, machine(240, 39, None)),
            ("a Mac of 16 GB", GPT_OSS, machine(172, 100, Some(114))),
            ("a small model on a small machine", SMALL, machine(20, 15, None)),
            ("a small model on a full machine", SMALL, machine(20, 12, None)),
        ];
        let shown: Vec<String> = rows
            .iter()
            .map(|(row, demand, machine)| {
                let Verdict { refusal, warning } = check_memory(demand, 8_192, machine);
                format!("{row}: {}", refusal.or(warning).unwrap_or_else(|| "yes".to_owned()))
            })
            .collect();
        insta::assert_snapshot!(shown.join("\n"), @"
    enough of everything: yes
    too small a machine: it needs a machine with 16.0 GB of memory, but this one has 15.9 GB; add a smaller model with `openagents models add FILE`
    just large enough, but slow: 24.0 GB of memory is recommended, but this machine has 16.0 GB: it may run slowly
    too full: it needs 4.0 GB of free memory, but only 3.9 GB is free; close other programs or use a smaller model
    a Mac of 16 GB: it needs 13.5 GB of GPU memory for a context of 8192 tokens, but the GPU has 11.4 GB; use a smaller model or context (OPENAGENTS_LLAMA_CONTEXT=N)
    a small model on a small machine: yes
    a small model on a full machine: it needs 1.3 GB of free memory, but only 1.2 GB is free; close other programs or use a smaller model
    ");
    }

    #[test]
    fn check_disk_leaves_margin() {
        assert_eq!(disk_required(GPT_OSS.file_bytes), 25_000_000_000);
        assert_eq!(disk_required(100), 100 + (1 << 30));
        assert_eq!(check_disk(GPT_OSS.file_bytes, 0, 25_000_000_000), None);
        assert_eq!(check_disk(GPT_OSS.file_bytes, 12_000_000_000, 13_000_000_000), None);
        let shown = check_disk(GPT_OSS.file_bytes, 0, 24_999_999_999).unwrap();
        insta::assert_snapshot!(shown, @"the download needs 25.0 GB of free disk space, but only 24.9 GB is free; delete some files or set OPENAGENTS_HOME to another disk");
    }

    fn demand(gpt_oss_20b: bool, file_bytes: u64, context_length: u64) -> Demand {
        Demand {
            gpt_oss_20b,
            file_bytes,
            cache_bytes_per_token: 48 << 10,
            context_length: Some(context_length),
        }
    }

    #[test]
    fn context_tokens_picks_largest_that_fits() {
        const GIB: u64 = 1 << 30;
        let gpt_oss = demand(true, 12_109_566_624, 131_072);
        let small = demand(false, GIB, 8_192);
        let rows = [
            ("a GPU with room", gpt_oss, 64 * GIB, Some(48 * GIB), 32_768),
            ("a Mac of 24 GB", gpt_oss, 20 * GIB, Some(16 * GIB), 32_768),
            ("a GPU with little room", gpt_oss, 20 * GIB, Some(12_109_566_624 + GIB + (400 << 20)), 8_192),
            ("a GPU without room", gpt_oss, 20 * GIB, Some(GIB), 2_048),
            ("the CPU", gpt_oss, 4 * GIB, None, 32_768),
            ("a model of few tokens", small, 64 * GIB, None, 8_192),
            ("a model of very few tokens", demand(false, GIB, 1_000), 64 * GIB, None, 1_000),
            ("little free memory", small, 2 * GIB + (200 << 20), None, 4_096),
        ];
        for (row, demand, memory_free, device_memory, expected) in rows {
            let machine = MachineFacts { memory_total: 64 * GIB, memory_free, device_memory };
            assert_eq!(context_tokens(&demand, &machine, None), expected, "{row}");
        }
    }

    #[test]
    fn context_tokens_can_be_overridden() {
        let machine = MachineFacts { memory_total: 1 << 36, memory_free: 1 << 36, device_memory: None };
        let small = demand(false, 1 << 30, 8_192);
        assert_eq!(context_tokens(&small, &machine, Some(512)), 512);
        let rows = [("512", Some(512)), (" 16384 ", Some(16_384)), ("", None), ("many", None), ("0", None)];
        for (asked, expected) in rows {
            assert_eq!(parse_context(asked), expected, "{asked:?}");
        }
    }
}
