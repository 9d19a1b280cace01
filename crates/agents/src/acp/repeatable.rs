//! Which commands "always" may be offered for: those that do the same each time, whatever an agent writes in between.

use std::{fs::File, io::Read as _, path::Path};

/// Programs whose work is decided by their input, their arguments or the files around them: shells, interpreters, build
/// tools, version control with its hooks, and programs that start others. By name without version: `python3.11` is
/// `python`.
const RUN_OTHERS: &str = "\
    ash|bash|busybox|csh|dash|elvish|fish|ksh|mksh|nu|pwsh|rbash|sh|tcsh|toybox|xonsh|zsh|\
    awk|bc|bun|clojure|deno|dotnet|elixir|erl|ghc|gawk|groovy|guile|jjs|java|jshell|julia|kotlin|lua|luajit|mawk|nawk|node|\
    nodejs|ocaml|osascript|perl|php|pypy|python|racket|raku|ruby|runghc|rscript|sbcl|scala|sed|sqlite|swift|tclsh|\
    ts-node|tsx|wish|\
    ant|bazel|bazelisk|buck|buildah|bundle|cabal|cargo|cmake|composer|conda|corepack|dune|gem|gmake|go|gradle|gradlew|\
    grunt|gulp|helm|hugo|invoke|jake|jest|just|lein|make|maven|meson|mise|mix|mvn|mvnw|ninja|nix|nmake|nox|npm|npx|nx|\
    pip|pipenv|pipx|pnpm|pnpx|poetry|pytest|rake|rebar|rustc|rustup|sbt|scons|stack|swiftc|task|terraform|tox|turbo|uv|\
    uvx|vite|vitest|webpack|xcodebuild|yarn|zig|\
    brew|docker|git|gh|hg|jj|kubectl|podman|svn|vagrant|\
    at|batch|chroot|command|cron|crontab|doas|emacs|entr|env|eval|exec|expect|find|flock|fd|gdb|ionice|launchctl|lldb|\
    ld|less|man|more|nano|nice|nohup|nsenter|open|parallel|pkexec|rlwrap|rsync|runuser|screen|script|setarch|setpriv|\
    setsid|socat|ssh|start-stop-daemon|stdbuf|strace|su|sudo|systemd-run|systemctl|tar|taskset|tee|time|timeout|tmux|\
    trap|unshare|vi|view|vim|nvim|watch|watchexec|watchman|xargs|xdg-open|zip";

/// Returns whether a program may do something else the next time although its arguments are the same: it is one of
/// [`RUN_OTHERS`], or a script.
pub(super) fn runs_others(program: &Path, called: &Path) -> bool {
    let is_listed = |path: &Path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
        let name = name.trim_end_matches(|c: char| c.is_ascii_digit() || "._-".contains(c));
        RUN_OTHERS.split('|').any(|listed| listed == name)
    };
    // A program that can't be read can't be judged either.
    let is_script = || {
        let mut beginning = [0; 2];
        let read = File::open(program).and_then(|mut file| file.read_exact(&mut beginning));
        read.is_err() || beginning == *b"#!"
    };
    is_listed(program) || is_listed(called) || is_script()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shells_interpreters_build_tools_and_scripts_run_others() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, content: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, content).unwrap();
            path
        };
        for name in ["bash", "python3.11", "node", "make", "cargo", "git", "env", "pip3", "Rscript", "npm-10"]
        {
            assert!(runs_others(&file(name, "\x7fELF"), Path::new("x")), "{name}");
        }
        let plain = file("plain", "\x7fELF");
        assert!(!runs_others(&plain, Path::new("/usr/bin/ls")));
        assert!(runs_others(&plain, Path::new("/usr/bin/sh")), "called by a shell's name");
        assert!(runs_others(&file("eslint", "#!/usr/bin/env node\n"), Path::new("eslint")));
        assert!(runs_others(&folder.path().join("missing"), Path::new("ls")));
    }
}
