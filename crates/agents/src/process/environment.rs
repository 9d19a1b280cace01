//! The environment passed to child processes.

/// Removes our own variables: agents must not see this app's tokens and folders.
pub(crate) fn filtered<'a>(
    environment: impl IntoIterator<Item = (&'a String, &'a String)>,
) -> impl Iterator<Item = (&'a String, &'a String)> {
    environment.into_iter().filter(|(name, value)| is_for_children(name, value))
}

/// Returns whether a variable is not ours and valid for the system.
pub(crate) fn is_for_children(name: &str, value: &str) -> bool {
    let is_ours = name.get(..11).is_some_and(|start| start.eq_ignore_ascii_case("OPENAGENTS_"));
    let is_odd = name.is_empty() || name.contains(['=', '\0']) || value.contains('\0');
    !is_ours && !is_odd
}

/// Returns whether a command that an agent chose gets one of the user's variables: those that are needed to find and
/// run programs and toolchains.
///
/// Uses a list of variables known to be harmless, as no rule recognizes every secret by its name: `DATABASE_URL`,
/// `MYSQL_PWD`. If a command needs others, the agent adds them, and the user sees them in the approval.
pub(crate) fn is_for_commands(name: &str, value: &str) -> bool {
    let is_known = FOR_COMMANDS.contains(&name)
        || FOR_COMMANDS.contains(&name.to_ascii_uppercase().as_str()) && name.ends_with("_proxy")
        || FOR_COMMANDS_BEGIN.iter().any(|begin| name.starts_with(begin));
    is_known && !has_password(value)
}

/// Returns whether a value contains an address with a password: `https://me:secret@proxy`.
fn has_password(value: &str) -> bool {
    value.split("://").skip(1).any(|rest| {
        let host = rest.split(['/', '?', '#', ' ', ',']).next().unwrap_or_default();
        host.contains('@')
    })
}

const FOR_COMMANDS_BEGIN: [&str; 2] = ["LC_", "XDG_"];

#[rustfmt::skip]
const FOR_COMMANDS: [&str; 118] = [
    // The user, the terminal and the language.
    "HOME", "LOGNAME", "USER", "SHELL", "PATH", "TMPDIR", "TMP", "TEMP", "TZ", "LANG", "LANGUAGE",
    "TERM", "TERM_PROGRAM", "TERMINFO", "TERMINFO_DIRS", "COLORTERM", "NO_COLOR", "FORCE_COLOR", "CLICOLOR",
    "CLICOLOR_FORCE", "EDITOR", "VISUAL", "PAGER", "LESS", "MANPATH", "INFOPATH", "DISPLAY", "WAYLAND_DISPLAY",
    // The network.
    "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE",
    "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "GIT_SSL_CAINFO", "NIX_SSL_CERT_FILE",
    // C and related languages.
    "CC", "CXX", "AR", "LD", "CPP", "CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "MAKEFLAGS", "CMAKE_GENERATOR",
    "CMAKE_PREFIX_PATH", "PKG_CONFIG_PATH", "LIBRARY_PATH", "LD_LIBRARY_PATH", "CPATH", "C_INCLUDE_PATH",
    "CPLUS_INCLUDE_PATH", "LIBCLANG_PATH", "SDKROOT", "DEVELOPER_DIR", "MACOSX_DEPLOYMENT_TARGET",
    // Rust, Go.
    "CARGO_HOME", "CARGO_TARGET_DIR", "CARGO_BUILD_JOBS", "CARGO_INCREMENTAL", "CARGO_NET_OFFLINE", "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN", "RUSTFLAGS", "RUSTDOCFLAGS", "RUSTC_WRAPPER", "RUST_BACKTRACE", "RUST_LOG",
    "GOROOT", "GOPATH", "GOBIN", "GOCACHE", "GOMODCACHE", "GOFLAGS", "GOPROXY", "GOTOOLCHAIN",
    // JavaScript.
    "NODE_ENV", "NODE_PATH", "NODE_OPTIONS", "NVM_DIR", "NVM_BIN", "FNM_DIR", "VOLTA_HOME", "PNPM_HOME", "BUN_INSTALL",
    "DENO_DIR", "COREPACK_HOME",
    // Python.
    "PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "PYENV_ROOT", "PIPX_HOME", "CONDA_PREFIX", "CONDA_DEFAULT_ENV", "CONDA_EXE",
    // Java and Android, Ruby, .NET.
    "JAVA_HOME", "M2_HOME", "GRADLE_HOME", "GRADLE_USER_HOME", "SDKMAN_DIR", "ANDROID_HOME", "ANDROID_SDK_ROOT", "GEM_HOME",
    "GEM_PATH", "RBENV_ROOT", "DOTNET_ROOT",
    // Package managers and containers: locations, not credentials.
    "HOMEBREW_PREFIX", "NIX_PATH", "NIX_PROFILES", "ASDF_DIR", "ASDF_DATA_DIR", "MISE_DATA_DIR", "DOCKER_HOST",
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn filtered_removes_our_variables() {
        let pairs = ["OPENAGENTS_HOME", "openagents_token", "OPENAGENTSX", "PATH", "Ä", "", "A=B"];
        let all: BTreeMap<_, _> = pairs.map(|name| (name.to_owned(), "x".to_owned())).into();
        let left: Vec<_> = filtered(&all).map(|(name, _)| name.as_str()).collect();
        assert_eq!(left, ["OPENAGENTSX", "PATH", "Ä"]);
    }

    /// Regression: variables whose names do not suggest a secret, such as `DATABASE_URL`, were passed on.
    #[test]
    fn commands_get_harmless_variables_only() {
        let passed = [
            ("PATH", "/usr/bin"),
            ("HOME", "/home/me"),
            ("LC_ALL", "C.UTF-8"),
            ("XDG_CACHE_HOME", "/home/me/.cache"),
            ("CARGO_HOME", "/opt/cargo"),
            ("VIRTUAL_ENV", "/venv"),
            ("http_proxy", "http://proxy:3128"),
            ("HTTPS_PROXY", "http://proxy:3128/a@b"),
        ];
        for (name, value) in passed {
            assert!(is_for_commands(name, value), "{name}");
        }
        let kept = [
            ("OPENAI_API_KEY", "x"),
            ("github_token", "x"),
            ("GITHUB_PAT", "x"),
            ("DATABASE_URL", "postgres://me:secret@db/app"),
            ("MYSQL_PWD", "x"),
            ("PGPASSWORD", "x"),
            ("SSH_AUTH_SOCK", "/run/agent"),
            ("GPG_AGENT_INFO", "x"),
            ("DBUS_SESSION_BUS_ADDRESS", "unix:path=/run/bus"),
            ("KUBECONFIG", "/home/me/.kube/config"),
            ("AWS_SECRET_ACCESS_KEY", "x"),
            ("CARGO_REGISTRY_TOKEN", "x"),
            ("NPM_CONFIG__AUTH", "x"),
            ("HTTPS_PROXY", "http://me:secret@proxy:3128"),
            ("GOPROXY", "https://one,https://me:secret@two"),
            ("path", "/usr/bin"),
            ("", "x"),
        ];
        for (name, value) in kept {
            assert!(!is_for_commands(name, value), "{name}");
        }
    }
}
