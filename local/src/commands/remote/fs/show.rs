//! What is shown: names, sizes, and how far a copy is.

use std::{io::IsTerminal as _, time::Duration};

use files::{Progress, Snapshot};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Map, Value, json};
use tokio::sync::watch;

use crate::{ask::visible, terminal};

/// Gives a name as a line may show it: nothing in it steers a terminal or ends the line.
pub(super) fn name(bytes: &[u8]) -> String {
    visible(&sftp::name::show(bytes))
}

/// Gives a name as a word that can be pasted into a shell.
pub(super) fn word(bytes: &[u8]) -> String {
    let text = name(bytes);
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+:@~".contains(c);
    match text.chars().all(is_plain) {
        true => text,
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

/// Puts a name into a JSON object; one that is no UTF-8 once more as hexadecimal digits under `KEY_hex`.
pub(super) fn put_name(object: &mut Map<String, Value>, key: &str, bytes: &[u8]) {
    object.insert(key.to_owned(), json!(String::from_utf8_lossy(bytes)));
    if std::str::from_utf8(bytes).is_err() {
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        object.insert(format!("{key}_hex"), json!(hex));
    }
}

/// Writes a number of bytes for a person.
pub(super) fn size(bytes: u64) -> String {
    indicatif::BinaryBytes(bytes).to_string()
}

/// Shows how far a copy is: a bar where standard error is a terminal, nothing elsewhere.
pub(super) struct Bar {
    bar: Option<ProgressBar>,
    pub(super) progress: Progress,
    snapshots: watch::Receiver<Snapshot>,
}

impl Bar {
    /// Shows nothing yet.
    pub(super) fn new() -> Self {
        let (progress, snapshots) = Progress::new();
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::new(0);
            let style = "{bar:24} {bytes}/{total_bytes} {bytes_per_sec} {eta}  {wide_msg}";
            if let Ok(style) = ProgressStyle::with_template(style) {
                bar.set_style(style);
            }
            bar.enable_steady_tick(Duration::from_millis(200));
            bar
        });
        Self {
            bar,
            progress,
            snapshots,
        }
    }

    /// Gives how many bytes were carried.
    pub(super) fn bytes(&self) -> u64 {
        self.snapshots.borrow().bytes
    }

    /// Shows it as long as `work` runs, then takes the bar away.
    pub(super) async fn during<T>(&self, work: impl Future<Output = T>) -> T {
        let Some(bar) = &self.bar else {
            return work.await;
        };
        let mut snapshots = self.snapshots.clone();
        let follow = async {
            loop {
                update(bar, &snapshots.borrow_and_update());
                // The sender lives as long as this.
                if snapshots.changed().await.is_err() {
                    std::future::pending::<()>().await;
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        let done = tokio::select! {
            biased;
            done = work => done,
            () = follow => std::future::pending().await,
        };
        bar.finish_and_clear();
        done
    }
}

fn update(bar: &ProgressBar, snapshot: &Snapshot) {
    bar.set_length(snapshot.all_bytes);
    bar.set_position(snapshot.bytes);
    let files = if snapshot.all_files > 1 {
        format!("{}/{} ", snapshot.files, snapshot.all_files)
    } else {
        String::new()
    };
    bar.set_message(format!("{files}{}", visible(&snapshot.current)));
}

/// Prints a line on standard error.
pub(super) fn say(text: &str) {
    terminal::error(&visible(text));
}
