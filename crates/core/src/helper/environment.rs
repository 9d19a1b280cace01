//! The environment of a helper program: the variables that it needs to run, without the user's keys.

use std::{ffi::OsString, process::Command};

/// Variables for folders, language and logs.
const PASSED: [&str; 15] = [
    "HOME",
    "USER",
    "LOGNAME",
    "PATH",
    "TMPDIR",
    "TMP",
    "TEMP",
    "TZ",
    "LANG",
    "XDG_CACHE_HOME",
    "LD_LIBRARY_PATH",
    "RUST_LOG",
    "RUST_BACKTRACE",
    "LLVM_PROFILE_FILE",
    "__CF_USER_TEXT_ENCODING",
];

/// Prefixes of our own settings and those of the compute libraries.
const PASSED_BEGIN: [&str; 14] = [
    "OPENAGENTS_LLAMA_",
    "OPENAGENTS_APPLE_",
    "OPENAGENTS_TEST_",
    "GGML_",
    "LLAMA_",
    "METAL_",
    "MTL_",
    "CUDA_",
    "HIP_",
    "ROCR_",
    "VK_",
    "OMP_",
    "DYLD_",
    "LC_",
];

/// Reduces a command's environment to the variables that were set for it and those that a helper needs.
pub(super) fn reduce(command: &mut Command) {
    let added: Vec<(OsString, OsString)> =
        command.get_envs().filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned()))).collect();
    let passed = std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(is_passed));
    command.env_clear().envs(passed).envs(added);
}

fn is_passed(name: &str) -> bool {
    PASSED.contains(&name) || PASSED_BEGIN.iter().any(|begin| name.starts_with(begin))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;

    /// Regression: the helper program inherited every key of the user's shell.
    #[test]
    fn a_helper_gets_no_keys() {
        let rows = [
            ("PATH", true),
            ("LC_ALL", true),
            ("OPENAGENTS_LLAMA_THREADS", true),
            ("CUDA_VISIBLE_DEVICES", true),
            ("OPENAGENTS_TOKEN", false),
            ("OPENAI_API_KEY", false),
            ("ANTHROPIC_API_KEY", false),
            ("HF_TOKEN", false),
            ("SSH_AUTH_SOCK", false),
            ("", false),
        ];
        for (name, expected) in rows {
            assert_eq!(is_passed(name), expected, "{name}");
        }
        let mut command = Command::new("helper");
        reduce(command.env("ADDED", "1"));
        let names: Vec<&OsStr> = command.get_envs().map(|(name, _)| name).collect();
        assert!(names.contains(&OsStr::new("ADDED")) && names.contains(&OsStr::new("PATH")), "{names:?}");
        // Set by cargo in tests.
        assert!(!names.contains(&OsStr::new("CARGO_PKG_NAME")), "{names:?}");
    }
}
