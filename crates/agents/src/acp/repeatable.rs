//! Programs for which "always" may be offered. They only print or count, so files that an agent writes cannot change
//! what they do.

use std::path::Path;

/// By file name.
const PRINT_ONLY: &str = "\
    b2sum|base32|base64|basename|cat|cksum|cmp|comm|cut|date|df|diff|dirname|du|echo|expand|expr|false|fold|free|groups|\
    head|hexdump|hostname|id|join|locale|ls|lsblk|lscpu|lsof|md5sum|nl|nproc|od|paste|pgrep|printf|ps|pwd|readlink|\
    realpath|rev|seq|sha1sum|sha224sum|sha256sum|sha384sum|sha512sum|shasum|sleep|stat|strings|sum|sw_vers|tac|tail|\
    test|tr|true|tty|uname|uniq|uptime|vm_stat|wc|who|whoami|xxd";

/// Returns whether a program does the same each time for the same arguments: both its file name and the name it is
/// invoked by are in [`PRINT_ONLY`].
pub(super) fn is_repeatable(program: &Path, called: &Path) -> bool {
    let is_listed = |path: &Path| {
        let name = path.file_name().unwrap_or_default();
        PRINT_ONLY.split('|').any(|listed| listed == name)
    };
    is_listed(program) && is_listed(called)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_programs_that_print_do_the_same_each_time() {
        let is = |path: &str| is_repeatable(Path::new(path), Path::new(path));
        assert!(is("/bin/ls") && is("/usr/bin/date"));
        for path in ["/bin/sh", "/usr/bin/python3.11", "/usr/bin/cc", "/usr/bin/hyperfine", "/opt/tool", "/"]
        {
            assert!(!is(path), "{path}");
        }
        assert!(
            !is_repeatable(Path::new("/bin/busybox"), Path::new("/bin/ls")),
            "one program for many names"
        );
        assert!(!is_repeatable(Path::new("/bin/ls"), Path::new("/tmp/sh")), "called by a shell's name");
    }
}
