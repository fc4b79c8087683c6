//! Names of users and groups, from the files of passwd(5) and group(5): a static program has no other look-up.

use std::{collections::HashMap, fs};

/// Names by number, read when they are first needed.
#[derive(Debug, Default)]
pub(super) struct Names(Option<[HashMap<u32, String>; 2]>);

impl Names {
    /// Gives the name of a user, or the number.
    pub(super) fn user(&mut self, number: u32) -> String {
        self.name(0, number)
    }

    /// Gives the name of a group, or the number.
    pub(super) fn group(&mut self, number: u32) -> String {
        self.name(1, number)
    }

    fn name(&mut self, which: usize, number: u32) -> String {
        let files = ["/etc/passwd", "/etc/group"];
        let maps = self
            .0
            .get_or_insert_with(|| files.map(|file| by_number(&read(file))));
        let name = maps.get(which).and_then(|map| map.get(&number));
        name.cloned().unwrap_or_else(|| number.to_string())
    }
}

/// Gives the home of a user by name.
pub(super) fn home_of(user: &[u8]) -> Option<Vec<u8>> {
    let passwd = read("/etc/passwd");
    let mut entries = passwd.lines().map(|line| line.split(':').collect::<Vec<_>>());
    let entry = entries.find(|entry| entry.first().is_some_and(|name| name.as_bytes() == user))?;
    entry.get(5).map(|home| home.as_bytes().to_vec())
}

/// A file that cannot be read names nobody.
fn read(file: &str) -> String {
    let bytes = fs::read(file).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The first entry of a number counts.
fn by_number(text: &str) -> HashMap<u32, String> {
    let mut names = HashMap::new();
    for line in text.lines() {
        let mut fields = line.split(':');
        if let (Some(name), Some(Ok(number))) = (fields.next(), fields.nth(1).map(str::parse)) {
            names.entry(number).or_insert_with(|| name.to_owned());
        }
    }
    names
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_first_name_of_a_number_counts() {
        let names =
            super::by_number("root:x:0:0::/root:/bin/sh\ntoor:x:0:0::/:/bin/sh\nodd\nme:x:1000:5::/h:/s\n");
        assert_eq!(names.len(), 2);
        assert_eq!((names[&0].as_str(), names[&1000].as_str()), ("root", "me"));
    }
}
