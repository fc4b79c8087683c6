//! Who listens on a port of this machine, as far as Linux shows it to us.

use std::fmt;

/// A process that listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// Its process id.
    pub pid: u32,
    /// Its name, as in `ps`.
    pub name: String,
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (process {})", self.name, self.pid)
    }
}

/// Finds who listens on `port`. Other people's processes are not shown to us. It reads files: not for async tasks.
pub(crate) fn of_port(port: u16) -> Option<Owner> {
    let inodes: Vec<String> = ["/proc/net/tcp", "/proc/net/tcp6"]
        .iter()
        .filter_map(|file| std::fs::read_to_string(file).ok())
        .flat_map(|table| listeners(&table, port))
        .collect();
    if inodes.is_empty() {
        return None;
    }
    let links: Vec<String> = inodes.iter().map(|inode| format!("socket:[{inode}]")).collect();
    let holds = |pid: u32| {
        let Ok(files) = std::fs::read_dir(format!("/proc/{pid}/fd")) else {
            return false;
        };
        files
            .filter_map(|file| std::fs::read_link(file.ok()?.path()).ok())
            .any(|link| {
                link.to_str()
                    .is_some_and(|link| links.iter().any(|wanted| wanted == link))
            })
    };
    let pid = std::fs::read_dir("/proc")
        .ok()?
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .find(|&pid| holds(pid))?;
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
    let name = name.trim_end().replace(char::is_control, "?");
    Some(Owner { pid, name })
}

/// Gives the inodes of listening sockets on a port from a table as in proc_pid_net(5).
fn listeners(table: &str, port: u16) -> Vec<String> {
    const LISTEN: &str = "0A";
    let suffix = format!(":{port:04X}");
    table
        .lines()
        .skip(1)
        .filter_map(|line| {
            let fields: Vec<&str> = line.split_ascii_whitespace().collect();
            let (local, state, inode) = (fields.get(1)?, fields.get(3)?, fields.get(9)?);
            (local.ends_with(&suffix) && *state == LISTEN).then(|| (*inode).to_owned())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listening_sockets_are_found_in_the_table() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
                     0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4711 1 0 100 0 0 10 0\n\
                     1: 0100007F:1F90 0100007F:C350 01 00000000:00000000 00:00000000 00000000     0        0 4712 1 0 20 4 30 10 -1\n";
        assert_eq!(listeners(table, 8080), ["4711"]);
        assert!(listeners(table, 8081).is_empty());
    }

    #[test]
    fn our_own_listener_is_ours() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let owner = of_port(listener.local_addr().unwrap().port()).unwrap();
        assert_eq!(owner.pid, std::process::id());
    }
}
