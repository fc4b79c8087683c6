//! TCP ports on which processes of this user listen, from proc(5).
//!
//! `/proc/net/tcp` and `tcp6` give address, user and inode of each listener; the inode leads to a process through the
//! links in `/proc/PID/fd`, where those may be read. That walk is made only when a listener appears that was not seen before.

use std::{
    collections::{BTreeMap, HashMap},
    fs, io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    os::unix::fs::MetadataExt as _,
    path::Path,
};

/// How many processes are looked through at most; a machine with more shows listeners without names.
const MOST_PROCESSES: usize = 20_000;

/// A port on which somebody listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Port {
    /// The port.
    pub port: u16,
    /// An address by which this machine itself reaches it.
    pub address: IpAddr,
    /// Whether other machines could reach it too.
    pub is_public: bool,
    /// Who listens, where that may be looked at.
    pub process: Option<Process>,
}

/// A process that listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// The process id.
    pub pid: u32,
    /// `/proc/PID/comm`: up to 15 bytes.
    pub name: String,
}

/// Looks again and again at what listens.
#[derive(Debug, Default)]
pub struct Listening {
    /// The process behind each socket that was seen the last time; `None` where it cannot be seen.
    known: HashMap<u64, Option<Process>>,
}

impl Listening {
    /// Lists the ports of this user, the lowest first. Where there is no `/proc`, there are none.
    ///
    /// # Errors
    /// The table of sockets is there and cannot be read.
    pub fn look(&mut self) -> io::Result<Vec<Port>> {
        let uid = rustix::process::geteuid().as_raw();
        let mut sockets = Vec::new();
        for table in ["/proc/net/tcp", "/proc/net/tcp6"] {
            match fs::read_to_string(table) {
                Ok(text) => sockets.extend(listeners(&text).filter(|socket| socket.uid == uid)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        self.known
            .retain(|inode, _| sockets.iter().any(|socket| socket.inode == *inode));
        if sockets
            .iter()
            .any(|socket| !self.known.contains_key(&socket.inode))
        {
            let mut found = processes(uid);
            for socket in &sockets {
                let process = self.known.entry(socket.inode).or_default();
                *process = found.remove(&socket.inode).or(process.take());
            }
        }
        Ok(self.ports(&sockets, serves_both()))
    }

    /// Makes one entry of all listeners on a port.
    fn ports(&self, sockets: &[Socket], both: Both) -> Vec<Port> {
        let mut ports: BTreeMap<u16, Port> = BTreeMap::new();
        for socket in sockets {
            let process = self.known.get(&socket.inode).cloned().flatten();
            let address = reached_by(socket.address, both);
            let is_public = !socket.address.to_canonical().is_loopback();
            let port = ports.entry(socket.port).or_insert_with(|| Port {
                port: socket.port,
                address,
                is_public,
                process: None,
            });
            port.is_public |= is_public;
            port.process = port.process.take().or(process);
            // The plainest address first: 127.0.0.1, then ::1, then what is left.
            let rank = |address: IpAddr| (!address.is_loopback(), address);
            port.address = std::cmp::min_by_key(port.address, address, |address| rank(*address));
        }
        ports.into_values().collect()
    }
}

/// Whether a listener on `::` takes IPv4 too, as it does unless the machine or the program says otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Both {
    Yes,
    No,
}

fn serves_both() -> Both {
    match fs::read_to_string("/proc/sys/net/ipv6/bindv6only") {
        Ok(text) if text.trim() == "1" => Both::No,
        _ => Both::Yes,
    }
}

fn reached_by(bound: IpAddr, both: Both) -> IpAddr {
    match bound {
        IpAddr::V4(address) if address.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(address) if address.is_unspecified() && both == Both::Yes => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(address) if address.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        // ::ffff:127.0.0.1 is IPv4 for whoever connects.
        IpAddr::V6(_) | IpAddr::V4(_) => bound.to_canonical(),
    }
}

/// A listener as the kernel's table has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Socket {
    address: IpAddr,
    port: u16,
    uid: u32,
    inode: u64,
}

/// `TCP_LISTEN` in the kernel's `tcp_states.h`.
const LISTEN: &str = "0A";

/// Reads the listeners of a table (pure). Lines of another form are skipped.
fn listeners(table: &str) -> impl Iterator<Item = Socket> {
    table.lines().filter_map(|line| {
        let mut fields = line.split_ascii_whitespace();
        let local = fields.nth(1)?;
        let state = fields.nth(1)?;
        if state != LISTEN {
            return None;
        }
        let uid = fields.nth(3)?.parse().ok()?;
        let inode = fields.nth(1)?.parse().ok()?;
        let (address, port) = local.split_once(':')?;
        Some(Socket {
            address: hex_address(address)?,
            port: u16::from_str_radix(port, 16).ok()?,
            uid,
            inode,
        })
    })
}

/// Reads an address as words of 32 bits in the order of this machine's memory.
fn hex_address(text: &str) -> Option<IpAddr> {
    let word = |at: usize| {
        let digits = text.get(at * 8..at * 8 + 8)?;
        u32::from_str_radix(digits, 16).ok().map(u32::to_ne_bytes)
    };
    match text.len() {
        8 => Some(Ipv4Addr::from(word(0)?).into()),
        32 => {
            let words = [word(0)?, word(1)?, word(2)?, word(3)?];
            let bytes: [u8; 16] = words.concat().try_into().ok()?;
            Some(Ipv6Addr::from(bytes).into())
        }
        _ => None,
    }
}

/// Finds the processes of a user by the sockets that they hold. What may not be read is left out.
fn processes(uid: u32) -> HashMap<u64, Process> {
    let mut found = HashMap::new();
    let Ok(entries) = fs::read_dir("/proc") else {
        return found;
    };
    let numbered = entries.filter_map(Result::ok).filter_map(|entry| {
        let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
        Some((pid, entry))
    });
    for (pid, entry) in numbered.take(MOST_PROCESSES) {
        if entry.metadata().is_ok_and(|metadata| metadata.uid() == uid) {
            sockets_of(pid, &entry.path(), &mut found);
        }
    }
    found
}

fn sockets_of(pid: u32, folder: &Path, found: &mut HashMap<u64, Process>) {
    let Ok(descriptors) = fs::read_dir(folder.join("fd")) else {
        return;
    };
    let mut name: Option<String> = None;
    for descriptor in descriptors.filter_map(Result::ok) {
        let Ok(target) = fs::read_link(descriptor.path()) else {
            continue;
        };
        let Some(inode) = target.to_str().and_then(socket_inode) else {
            continue;
        };
        let name = name.get_or_insert_with(|| {
            let name = fs::read(folder.join("comm")).unwrap_or_default();
            String::from_utf8_lossy(&name).trim_end().to_owned()
        });
        // A child that inherited the socket has a higher number, most of the time; its parent is who opened it.
        let process = found.entry(inode).or_insert_with(|| Process {
            pid,
            name: name.clone(),
        });
        if pid < process.pid {
            *process = Process {
                pid,
                name: name.clone(),
            };
        }
    }
}

fn socket_inode(link: &str) -> Option<u64> {
    link.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    #[cfg(target_endian = "little")]
    fn reads_the_kernels_table() {
        let table = "\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 777 1 0000000000000000 100 0 0 10 0
   1: 0100007F:1F91 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  1000        0 778 1 0
   2: 00000000:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 5 1 0
   odd line
   3: 00000000000000000000000001000000:0BB8 00000000000000000000000000000000:0000 0A 0:0 00:0 0 1000 0 779 1 0
   4: 0000000:1F90 00000000:0000 0A 0:0 00:0 0 1000 0 780 1 0
";
        let found: Vec<(String, u16, u32, u64)> = listeners(table)
            .map(|socket| (socket.address.to_string(), socket.port, socket.uid, socket.inode))
            .collect();
        let expected = [
            ("127.0.0.1".to_owned(), 8080, 1000, 777),
            ("0.0.0.0".to_owned(), 22, 0, 5),
            ("::1".to_owned(), 3000, 1000, 779),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_port_is_one_entry_with_the_plainest_address() {
        let check = |addresses: &[&str], both: Both, expected: (&str, bool)| {
            let sockets: Vec<Socket> = addresses
                .iter()
                .map(|address| Socket {
                    address: address.parse().unwrap(),
                    port: 80,
                    uid: 0,
                    inode: 0,
                })
                .collect();
            let [port] = Listening::default().ports(&sockets, both).try_into().unwrap();
            assert_eq!((port.address.to_string().as_str(), port.is_public), expected);
        };
        check(&["127.0.0.1"], Both::Yes, ("127.0.0.1", false));
        check(&["::1", "127.0.0.1"], Both::Yes, ("127.0.0.1", false));
        check(&["::1"], Both::Yes, ("::1", false));
        check(&["0.0.0.0"], Both::Yes, ("127.0.0.1", true));
        check(&["::"], Both::Yes, ("127.0.0.1", true));
        check(&["::"], Both::No, ("::1", true));
        check(&["10.0.0.7"], Both::Yes, ("10.0.0.7", true));
        check(&["10.0.0.7", "127.0.0.1"], Both::Yes, ("127.0.0.1", true));
        check(&["::ffff:127.0.0.1"], Both::Yes, ("127.0.0.1", false));
    }

    #[test]
    fn a_listener_of_this_process_is_found_and_gone_again() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let mut listening = Listening::default();
        // Nothing of the second look comes from a walk.
        for _ in 0..2 {
            let ports = listening.look().unwrap();
            let found = ports.iter().find(|found| found.port == port).unwrap();
            assert_eq!(found.address, IpAddr::from(Ipv4Addr::LOCALHOST));
            assert!(!found.is_public);
            assert_eq!(found.process.as_ref().unwrap().pid, std::process::id());
        }
        drop(listener);
        assert!(!listening.look().unwrap().iter().any(|found| found.port == port));
    }
}
