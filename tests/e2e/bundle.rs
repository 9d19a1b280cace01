//! The package that users install: its contents, and that the app starts once it is installed.

use serde_json::Value;
use std::{fs, path::Path};

fn configuration() -> anyhow::Result<(&'static Path, Value)> {
    let repository = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    let text = fs::read_to_string(repository.join("tauri.conf.json"))?;
    Ok((repository, serde_json::from_str(&text)?))
}

#[test]
fn bundle_identifier_stays_stable() -> anyhow::Result<()> {
    let (_, configuration) = configuration()?;
    assert_eq!(configuration["identifier"], "com.openagents.desktop");
    assert_eq!(configuration["productName"], "OpenAgents");
    assert_eq!(configuration["mainBinaryName"], "openagents-desktop");
    assert_eq!(configuration["version"], Value::Null, "the version is Cargo's alone");
    assert_eq!(configuration["bundle"]["targets"], serde_json::json!(["app", "deb"]));
    Ok(())
}

#[test]
fn icons_have_the_named_sizes() -> anyhow::Result<()> {
    let (repository, configuration) = configuration()?;
    let icons = configuration["bundle"]["icon"].as_array().cloned().unwrap_or_default();
    assert!(icons.len() >= 5, "{icons:?}");
    for icon in icons.iter().filter_map(Value::as_str) {
        let bytes = fs::read(repository.join(icon)).map_err(|error| anyhow::anyhow!("{icon}: {error}"))?;
        let expected = match icon {
            "icons/32x32.png" => 32,
            "icons/128x128.png" => 128,
            "icons/128x128@2x.png" => 256,
            "icons/icon.png" => 512,
            "icons/icon.icns" => {
                assert!(bytes.starts_with(b"icns"), "{icon} is no icon of macOS");
                continue;
            }
            other => anyhow::bail!("{other}: unknown"),
        };
        // The header of a PNG: eight signature bytes, a chunk's length and name, then width and height.
        let number = |at: usize| u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        assert_eq!((number(16), number(20)), (expected, expected), "{icon}");
    }
    Ok(())
}

/// If the page could load from, or connect to, any host, every vulnerability in it would expose the machine.
#[test]
fn page_connects_only_to_loopback() -> anyhow::Result<()> {
    let (_, configuration) = configuration()?;
    let policy = &configuration["app"]["security"]["csp"];
    assert_eq!(policy["default-src"], "'self'");
    let foreign = policy.as_object().into_iter().flatten().flat_map(|(_, sources)| {
        sources.as_str().unwrap_or_default().split_whitespace().filter(|source| {
            !matches!(*source, "'self'" | "'none'" | "data:" | "ipc:" | "http://ipc.localhost")
                && !source.ends_with("://127.0.0.1:*")
        })
    });
    assert_eq!(foreign.collect::<Vec<_>>(), [""; 0]);
    assert!(policy["script-src"].is_null(), "scripts come from the page alone");
    Ok(())
}

#[cfg(target_os = "linux")]
mod debian {
    use crate::desktop::{self, Desktop};
    use anyhow::{Context as _, bail};
    use std::{
        fs,
        path::{Path, PathBuf},
        process::Command,
    };

    /// Bundles the output of `cargo build`; nothing is compiled again.
    fn package() -> anyhow::Result<PathBuf> {
        desktop::build()?;
        let target = desktop::programs()?.parent().context("programs lie in target/<profile>")?.to_owned();
        run(Command::new("scripts/bundle.sh")
            .arg("debug")
            .current_dir(desktop::repository())
            .env("CARGO_TARGET_DIR", &target))?;
        let bundler = desktop::repository().join("node_modules/.bin/tauri");
        run(Command::new(&bundler)
            .args(["bundle", "--ci", "--debug", "--bundles", "deb", "--config", "src-tauri/bundle.conf.json"])
            .current_dir(desktop::repository())
            .env("CARGO_TARGET_DIR", &target))
        .context("the Tauri command does not bundle; `npm ci` installs it")?;
        let folder = desktop::programs()?.join("bundle/deb");
        let version = env!("CARGO_PKG_VERSION");
        let architecture = run(Command::new("dpkg").arg("--print-architecture"))?;
        let package = folder.join(format!("OpenAgents_{version}_{}.deb", architecture.trim()));
        if !package.is_file() {
            bail!("{} is missing", package.display());
        }
        Ok(package)
    }

    fn run(command: &mut Command) -> anyhow::Result<String> {
        let output = command.output().with_context(|| format!("{command:?}"))?;
        if !output.status.success() {
            bail!("{command:?}: {}", String::from_utf8_lossy(&output.stderr));
        }
        Ok(String::from_utf8(output.stdout)?)
    }

    fn field(package: &Path, name: &str) -> anyhow::Result<String> {
        Ok(run(Command::new("dpkg-deb").arg("--field").arg(package).arg(name))?.trim().to_owned())
    }

    /// Installs the package into an empty root. The package database is this machine's, so that the package's
    /// dependencies are checked as they would be here. Only root may set file owners, so other users unpack.
    fn install(package: &Path, root: &Path) -> anyhow::Result<()> {
        if run(Command::new("id").arg("-u"))?.trim() != "0" {
            run(Command::new("dpkg-deb").arg("--extract").arg(package).arg(root))?;
            return Ok(());
        }
        let database = root.join("var/lib/dpkg");
        for folder in ["info", "updates", "triggers"] {
            fs::create_dir_all(database.join(folder))?;
        }
        fs::copy("/var/lib/dpkg/status", database.join("status"))?;
        run(Command::new("dpkg").arg(format!("--root={}", root.display())).arg("--install").arg(package))?;
        let status = run(Command::new("dpkg-query")
            .arg(format!("--admindir={}", database.display()))
            .args(["--show", "--showformat=${db:Status-Status}", &field(package, "Package")?]))?;
        assert_eq!(status, "installed");
        Ok(())
    }

    #[tokio::test]
    async fn package_installs_and_starts_in_clean_root() -> anyhow::Result<()> {
        let package = package()?;
        assert_eq!(field(&package, "Version")?, env!("CARGO_PKG_VERSION"));
        assert_eq!(field(&package, "Depends")?, "libwebkit2gtk-4.1-0, libgtk-3-0");

        let root = tempfile::tempdir()?;
        install(&package, root.path())?;
        let entry = fs::read_to_string(root.path().join("usr/share/applications/OpenAgents.desktop"))?;
        for line in ["Name=OpenAgents", "Exec=openagents-desktop", "Icon=openagents-desktop"] {
            assert!(entry.lines().any(|entry| entry == line), "{line} is not in:\n{entry}");
        }
        for file in [
            "usr/share/icons/hicolor/128x128/apps/openagents-desktop.png",
            "usr/share/doc/open-agents/copyright",
            // Next to the app, where the app searches for it.
            "usr/bin/openagents-llama",
        ] {
            assert!(root.path().join(file).is_file(), "{file}");
        }

        let home = tempfile::tempdir()?;
        let program = root.path().join("usr/bin/openagents-desktop");
        let desktop = Desktop::start(&program, home.path(), None).await?;
        assert_eq!(desktop.page.title().await?, "OpenAgents");
        desktop.until("a live link", "return document.querySelector('[data-link=live]')").await?;
        desktop.shoot("installed").await?;
        desktop.close(home.path()).await
    }
}
