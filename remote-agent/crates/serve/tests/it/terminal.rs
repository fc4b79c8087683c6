//! Terminals over the wire.

use std::{path::PathBuf, sync::Arc};

use client::{Agent, AgentStream, Error};
use protocol::{
    ErrorCode, StreamTarget, TerminalDecoder, TerminalEnd, TerminalInput, TerminalOpen, TerminalOutput,
    TerminalSize,
};
use sandbox::LoginShell;
use scripted_model::Scenario;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::rig::{DEADLINE, Pipes, Rig};

async fn rig() -> (Rig, Agent) {
    let options = serve::Options {
        shell: Some(Arc::new(LoginShell {
            program: "/bin/bash".into(),
            environment: vec![("PATH".into(), "/usr/bin:/bin".into())],
            home: PathBuf::from("/tmp"),
        })),
        ..serve::Options::default()
    };
    let rig = Rig::with(Scenario::default(), options).await;
    let agent = Pipes::new(&rig).agent();
    (rig, agent)
}

fn open(command: Option<&str>, folder: Option<String>) -> StreamTarget {
    StreamTarget::Terminal(TerminalOpen {
        columns: 91,
        rows: 33,
        term: "xterm".to_owned(),
        folder,
        command: command.map(str::to_owned),
    })
}

/// A client's end.
struct Near {
    stream: AgentStream,
    decoder: TerminalDecoder,
    seen: String,
}

impl Near {
    async fn open(agent: &Agent, command: Option<&str>, folder: Option<String>) -> Self {
        Self {
            stream: agent.open_stream(&open(command, folder)).await.unwrap(),
            decoder: TerminalDecoder::default(),
            seen: String::new(),
        }
    }

    async fn send(&mut self, input: TerminalInput) {
        self.stream.write_all(&input.encode()).await.unwrap();
    }

    async fn next(&mut self) -> TerminalOutput {
        loop {
            if let Some(output) = self.decoder.output().unwrap() {
                return output;
            }
            let mut buffer = [0; 4096];
            let read = tokio::time::timeout(DEADLINE, self.stream.read(&mut buffer)).await;
            let count = read.unwrap().unwrap();
            assert!(count > 0, "ended: {}", self.seen);
            self.decoder.push(&buffer[..count]);
        }
    }

    async fn until(&mut self, word: &str) {
        while !self.seen.contains(word) {
            match self.next().await {
                TerminalOutput::Data(data) => self.seen.push_str(&String::from_utf8_lossy(&data)),
                TerminalOutput::End(end) => panic!("{end:?}: {}", self.seen),
            }
        }
    }

    async fn end(&mut self) -> TerminalEnd {
        loop {
            if let TerminalOutput::End(end) = self.next().await {
                return end;
            }
        }
    }
}

#[tokio::test]
async fn size_signals_and_exit_codes_go_through() {
    let (rig, agent) = rig().await;
    let folder = rig.dir.path().join("a folder's");
    std::fs::create_dir(&folder).unwrap();
    // A shell that runs a command takes no signal that the command has just outlived; one that waits takes all.
    let command = "echo $PWD; stty size; sleep 600 & trap 'stty size; kill $!; exit 7' INT; echo ready; wait";
    let mut near = Near::open(&agent, Some(command), Some(folder.display().to_string())).await;
    near.until("ready").await;
    assert!(
        near.seen.contains("33 91") && near.seen.contains("a folder's"),
        "{}",
        near.seen
    );
    let size = TerminalSize {
        columns: 120,
        rows: 50,
    };
    near.send(TerminalInput::Resize(size)).await;
    near.send(TerminalInput::Signal("INT".to_owned())).await;
    near.until("50 120").await;
    assert_eq!(near.end().await, TerminalEnd::Code(7));

    let mut near = Near::open(&agent, Some("kill -TERM $$"), None).await;
    assert_eq!(near.end().await, TerminalEnd::Signal(15));
}

#[tokio::test]
async fn a_shell_ends_with_its_input_and_with_its_client() {
    let (_rig, agent) = rig().await;
    let mut near = Near::open(&agent, None, None).await;
    near.send(TerminalInput::Data(b"echo $((40 + 2))-$TERM\n".to_vec()))
        .await;
    near.until("42-xterm").await;
    near.send(TerminalInput::End).await;
    assert!(matches!(near.end().await, TerminalEnd::Code(_)));

    let mut near = Near::open(
        &agent,
        Some("echo pid $$; trap '' INT; while :; do sleep 0.1; done"),
        None,
    )
    .await;
    near.until("pid ").await;
    near.until("\n").await;
    let pid: u32 = near.seen.split_whitespace().nth(1).unwrap().parse().unwrap();
    let process = PathBuf::from(format!("/proc/{pid}"));
    assert!(process.exists());
    drop(near);
    let gone = async {
        while process.exists() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(DEADLINE, gone).await.unwrap();
}

#[tokio::test]
async fn a_reader_that_stands_still_holds_up_its_own_terminal_only() {
    let (_rig, agent) = rig().await;
    let mut held = Near::open(&agent, Some("yes | head -c 20000000; echo; echo over"), None).await;
    let mut other = Near::open(&agent, Some("echo fine"), None).await;
    other.until("fine").await;
    let mut bytes = 0;
    let end = loop {
        match held.next().await {
            TerminalOutput::Data(data) => bytes += data.iter().filter(|byte| **byte == b'y').count(),
            TerminalOutput::End(end) => break end,
        }
    };
    assert_eq!((bytes, end), (10_000_000, TerminalEnd::Code(0)));
}

#[tokio::test]
async fn a_folder_that_is_not_there_is_named() {
    let (_rig, agent) = rig().await;
    let refused = agent
        .open_stream(&open(None, Some("/no/such/folder".to_owned())))
        .await;
    assert!(
        matches!(&refused, Err(Error::Agent(body)) if body.code == ErrorCode::Workspace && body.message.contains("/no/such/folder")),
        "{refused:?}"
    );
}
