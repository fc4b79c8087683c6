//! The sample work: a folder with a failing test. It needs nothing but a POSIX shell.

use std::{fs, io, os::unix::fs::PermissionsExt as _, path::Path};

/// The folder in the host's home.
pub(crate) const FOLDER: &str = "sums";
/// Runs the test, in the folder.
pub(crate) const TEST: &str = "sh ./test.sh";
/// The file with the mistake.
pub(crate) const SCRIPT: &str = "add.sh";
/// The mistake.
pub(crate) const WRONG: &str = "$1 - $2";
/// What should stand there.
pub(crate) const RIGHT: &str = "$1 + $2";

const ADD: &str = "#!/bin/sh
# Prints the sum of two numbers.
echo \"$(($1 - $2))\"
";

const CHECK: &str = "#!/bin/sh
# Tries add.sh with a few numbers.
failed=0
check() {
  got=$(sh ./add.sh \"$1\" \"$2\")
  if [ \"$got\" = \"$3\" ]; then
    echo \"ok    $1 + $2 = $got\"
  else
    echo \"FAIL  $1 + $2 = $got, should be $3\"
    failed=1
  fi
}
check 2 3 5
check 40 2 42
exit $failed
";

/// Writes the folder below `home`.
pub(crate) fn write(home: &Path) -> io::Result<()> {
    let folder = home.join(FOLDER);
    fs::create_dir(&folder)?;
    for (name, text) in [(SCRIPT, ADD), ("test.sh", CHECK)] {
        let file = folder.join(name);
        fs::write(&file, text)?;
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test_passes(home: &Path) -> bool {
        let mut command = stdx::process::blocking_command("/bin/sh");
        command.args(["-c", TEST]).current_dir(home.join(FOLDER));
        command.env("PATH", "/usr/bin:/bin").status().unwrap().success()
    }

    #[test]
    fn the_test_fails_until_the_mistake_is_mended() {
        let home = tempfile::tempdir().unwrap();
        write(home.path()).unwrap();
        assert!(!test_passes(home.path()));
        let file = home.path().join(FOLDER).join(SCRIPT);
        let text = fs::read_to_string(&file).unwrap();
        assert_eq!(text.matches(WRONG).count(), 1);
        fs::write(&file, text.replace(WRONG, RIGHT)).unwrap();
        assert!(test_passes(home.path()));
    }
}
