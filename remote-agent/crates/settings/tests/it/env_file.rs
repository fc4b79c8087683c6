//! The file of keys.

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
};

use settings::{EnvFile, env_file};
use stdx::Secret;

use crate::support::Fixture;

#[test]
fn every_accepted_form_is_read() {
    let file = EnvFile::parse(
        "# comment\n\nA=1\nexport B = two words # note\nC='x # y'\nD=\"a\\\"b\\\\c\"\nE=#k\nF=\n  G=a=b=c\nA=2\nnot an entry\n9X=1\n# reasonix-cleared OLD\nH=\"open\n",
    );
    let get = |name: &str| file.get(name).map(|value| value.expose().to_owned());
    for (name, value) in [
        ("A", "2"),
        ("B", "two words"),
        ("C", "x # y"),
        ("D", "a\"b\\c"),
        ("E", "#k"),
        ("G", "a=b=c"),
        ("H", "\"open"),
    ] {
        assert_eq!(get(name).as_deref(), Some(value), "{name}");
    }
    assert_eq!(get("F"), None, "an empty value is no key");
    assert!(file.is_cleared("OLD") && !file.is_cleared("A"));
    assert_eq!(file.ignored_lines, [11, 12]);
    assert_eq!(file.names().collect::<String>(), "ABCDEFGH");
    assert!(!format!("{file:?}").contains("two words"));
}

#[test]
fn setting_one_name_keeps_every_other_line() {
    let fixture = Fixture::new();
    let path = fixture.path("home/.env");
    let old = "# keys\nexport A=1\n\nB=2\n# reasonix-cleared C\nA=3\nrubbish\n";
    fs::write(&path, old).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    assert!(EnvFile::load(&path).unwrap().readable_by_others);
    env_file::set(&path, "A", &Secret::new("k-1/x")).unwrap();
    env_file::set(&path, "C", &Secret::new("a \"b\" \\ #c 'd' $e é")).unwrap();
    let text = fs::read_to_string(&path).unwrap();
    assert_eq!(
        text,
        "# keys\n\nB=2\nC=\"a \\\"b\\\" \\\\ #c 'd' $e é\"\nA=k-1/x\nrubbish\n"
    );
    let file = EnvFile::load(&path).unwrap();
    assert_eq!(file.get("C").unwrap().expose(), "a \"b\" \\ #c 'd' $e é");
    assert!(!file.readable_by_others);
    assert!(env_file::clear(&path, "A").unwrap());
    assert!(!env_file::clear(&path, "A").unwrap());
    let file = EnvFile::load(&path).unwrap();
    assert!(file.is_cleared("A") && file.get("A").is_none());
}

#[test]
fn a_missing_file_is_empty_and_created_for_its_owner_only() {
    let fixture = Fixture::new();
    let path = fixture.path("home/.env");
    assert_eq!(EnvFile::load(&path).unwrap().names().count(), 0);
    env_file::set(&path, "A", &Secret::new("1")).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "A=1\n");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_link_stays_a_link() {
    let fixture = Fixture::new();
    let (real, link) = (fixture.path("real"), fixture.path("home/.env"));
    fs::write(&real, "A=1\n").unwrap();
    symlink(&real, &link).unwrap();
    env_file::set(&link, "B", &Secret::new("2")).unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::read_to_string(&real).unwrap(), "A=1\nB=2\n");
}

#[test]
fn bad_names_and_values_of_several_lines_are_refused_without_showing_them() {
    let fixture = Fixture::new();
    let path = fixture.path("home/.env");
    for (name, value) in [
        ("A B", "hush"),
        ("", "hush"),
        ("1A", "hush"),
        ("A", "hush\nX=1"),
        ("A", "hush\rX"),
        ("A=B", "hush"),
    ] {
        let error = env_file::set(&path, name, &Secret::new(value)).unwrap_err();
        assert!(!error.to_string().contains("hush"), "{error}");
    }
    assert!(!path.exists());
    fs::create_dir(&path).unwrap();
    assert!(EnvFile::load(&path).is_err());
}
