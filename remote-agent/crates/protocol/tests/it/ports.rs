//! Lists of ports, under the names of their golden files.

use protocol::{ListeningPort, PortList, PortProcess};
use serde_json::Value;

pub(crate) fn all() -> Vec<(&'static str, &'static str, Value)> {
    let port = |port, process| ListeningPort {
        port,
        host: "127.0.0.1".into(),
        public: port == 80,
        process,
    };
    let name = "node".into();
    let list = PortList {
        ports: vec![port(80, None), port(3000, Some(PortProcess { pid: 7, name }))],
    };
    vec![("port_list", "two", serde_json::to_value(list).unwrap())]
}
