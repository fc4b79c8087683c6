//! A real terminal: tmux with a server of its own and a window of a chosen size, in which the program runs.
//!
//! The program is the child of a small shell script that writes down the terminal's settings before and after, and the
//! exit code. The window stays when the program has ended, so that a test can look at what it left.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use tokio::{io::AsyncWriteExt as _, process::Command};

use crate::rig::DEADLINE;

/// How often a test looks at the screen.
const LOOK: Duration = Duration::from_millis(30);

/// How long a key may take to show before it is pressed again.
const REACTION: Duration = Duration::from_secs(2);

/// tmux says this of a terminal that is as programs expect it: the normal screen, cursor shown, no mouse reports,
/// usual cursor and number keys, no insertion, lines wrap.
const MODES: &str = "#{alternate_on} #{cursor_flag} #{mouse_any_flag} #{keypad_cursor_flag} #{keypad_flag} \
                     #{insert_flag} #{wrap_flag}";
const USUAL_MODES: &str = "0 1 0 0 0 0 1";

/// A window in which a program runs. Dropping it ends both.
pub(crate) struct Terminal {
    dir: tempfile::TempDir,
}

impl Terminal {
    /// Starts a program in a window of so many columns and rows. Of `command` count the program, its arguments,
    /// environment and folder; nothing else of this process's environment reaches it.
    pub(crate) async fn open(command: &Command, columns: u16, rows: u16) -> Self {
        let dir = tempfile::Builder::new()
            .prefix("rx-term-")
            .tempdir_in("/tmp")
            .unwrap();
        let terminal = Self { dir };
        let script = terminal.file("script");
        fs::write(&script, terminal.script(command)).unwrap();
        // `window-size manual` here would crash tmux 3.3a at its start; resizing a window sets it.
        let options = "set -g status off\nset -g default-terminal tmux-256color\nset -s escape-time 0\n\
                       set -g remain-on-exit on\nset -g history-limit 5000\n";
        fs::write(terminal.file("options"), options).unwrap();
        let size = [columns.to_string(), rows.to_string()];
        let script = script.to_str().unwrap();
        terminal
            .tmux(&[
                "new-session",
                "-d",
                "-x",
                &size[0],
                "-y",
                &size[1],
                "/bin/sh",
                script,
            ])
            .await;
        terminal
    }

    fn file(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Writes the script that the window runs.
    fn script(&self, command: &Command) -> String {
        let command = command.as_std();
        let mut words = vec!["env".to_owned(), "-i".to_owned()];
        words.extend(["TERM=tmux-256color".to_owned(), "COLORTERM=truecolor".to_owned()]);
        for (name, value) in command.get_envs() {
            let value = value.unwrap_or_default().to_str().unwrap();
            words.push(format!("{}={value}", name.to_str().unwrap()));
        }
        words.push(command.get_program().to_str().unwrap().to_owned());
        words.extend(command.get_args().map(|word| word.to_str().unwrap().to_owned()));
        let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
        let words = words.join(" ");
        let folder = command.get_current_dir().unwrap_or(Path::new("/"));
        // Signals of the terminal reach this script too; with a handler it goes on, and its children have none.
        format!(
            "trap : HUP INT QUIT TERM\ncd {} || exit\nhere={}\nstty -g >$here/before\n\
             sh -c 'echo $$ >\"$0.new\" && mv \"$0.new\" \"$0\" && exec \"$@\"' $here/pid {words}\n\
             code=$?\nstty -g >$here/after\necho $code >$here/code.new\nmv $here/code.new $here/code\n\
             exec sleep 100000\n",
            quoted(folder.to_str().unwrap()),
            quoted(self.dir.path().to_str().unwrap()),
        )
    }

    /// Asks tmux for something and gives what it prints.
    async fn tmux(&self, args: &[&str]) -> String {
        self.tmux_with_input(args, b"").await
    }

    async fn tmux_with_input(&self, args: &[&str], input: &[u8]) -> String {
        let mut command = self.tmux_command(args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap_or_else(|error| {
            panic!("tmux could not be started: {error}; install it: apt-get install tmux")
        });
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(input).await.unwrap();
        drop(stdin);
        let output = tokio::time::timeout(DEADLINE, child.wait_with_output())
            .await
            .unwrap_or_else(|_| panic!("tmux {args:?} did not end"))
            .unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "tmux {args:?}: {errors}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn tmux_command(&self, args: &[&str]) -> Command {
        let mut command = stdx::process::command("tmux");
        command
            .arg("-u")
            .arg("-S")
            .arg(self.file("socket"))
            .arg("-f")
            .arg(self.file("options"))
            .args(args);
        command
            .env("HOME", self.dir.path())
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("LANG", "C.UTF-8");
        command
    }

    /// Presses keys, named as tmux names them: `Enter`, `Escape`, `C-c`, `S-Tab`.
    pub(crate) async fn keys(&self, keys: &[&str]) {
        self.tmux(&[&["send-keys"], keys].concat()).await;
    }

    /// Types text, key by key.
    pub(crate) async fn write(&self, text: &str) {
        self.tmux(&["send-keys", "-l", text]).await;
    }

    /// Pastes text: as a block if the program has asked for that.
    pub(crate) async fn paste(&self, text: &str) {
        self.tmux_with_input(&["load-buffer", "-b", "test", "-"], text.as_bytes())
            .await;
        self.tmux(&["paste-buffer", "-d", "-p", "-r", "-b", "test"]).await;
    }

    /// Changes the size of the window.
    pub(crate) async fn resize(&self, columns: u16, rows: u16) {
        let (columns, rows) = (columns.to_string(), rows.to_string());
        self.tmux(&["resize-window", "-x", &columns, "-y", &rows]).await;
    }

    /// Gives the text on the screen, one line a row, without blanks at their ends.
    pub(crate) async fn screen(&self) -> String {
        let text = self.tmux(&["capture-pane", "-p"]).await;
        let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
        lines.join("\n")
    }

    /// Gives the screen and what was scrolled off the top of it.
    pub(crate) async fn everything(&self) -> String {
        self.tmux(&["capture-pane", "-p", "-J", "-S", "-"]).await
    }

    /// Waits until the screen is as it should be, and gives it.
    pub(crate) async fn wait_for(&self, what: &str, fits: impl Fn(&str) -> bool) -> String {
        let mut screen = String::new();
        let wait = async {
            loop {
                screen = self.screen().await;
                if fits(&screen) {
                    return;
                }
                tokio::time::sleep(LOOK).await;
            }
        };
        let came = tokio::time::timeout(DEADLINE, wait).await;
        assert!(came.is_ok(), "never seen: {what}\n{}", framed(&screen));
        screen
    }

    /// Waits until a text is on the screen, and gives the screen.
    pub(crate) async fn see(&self, text: &str) -> String {
        self.wait_for(text, |screen| screen.contains(text)).await
    }

    /// Presses a key until a question is gone: a dialog that has just come takes no keys for a moment, so that what is
    /// typed ahead answers nothing.
    pub(crate) async fn answer(&self, question: &str, key: &str) {
        self.see(question).await;
        self.press_until(key, question, |screen| !screen.contains(question))
            .await;
    }

    /// Presses a key again and again, with time to react in between, until the screen is as it should be.
    pub(crate) async fn press_until(&self, key: &str, what: &str, fits: impl Fn(&str) -> bool) {
        for _ in 0..20 {
            self.keys(&[key]).await;
            let wait = async {
                while !fits(&self.screen().await) {
                    tokio::time::sleep(LOOK).await;
                }
            };
            if tokio::time::timeout(REACTION, wait).await.is_ok() {
                return;
            }
        }
        panic!("{key} does nothing: {what}\n{}", framed(&self.screen().await));
    }

    /// Waits for the end of the program and gives its exit code; 128 and the signal's number if one ended it.
    pub(crate) async fn exit_code(&self) -> i32 {
        self.exit_code_unseen(true).await
    }

    async fn exit_code_unseen(&self, is_open: bool) -> i32 {
        let code = self.file("code");
        let wait = async {
            while !code.exists() {
                tokio::time::sleep(LOOK).await;
            }
        };
        if tokio::time::timeout(DEADLINE, wait).await.is_err() {
            let screen = if is_open {
                self.screen().await
            } else {
                String::new()
            };
            panic!("the program did not end\n{}", framed(&screen));
        }
        fs::read_to_string(code).unwrap().trim().parse().unwrap()
    }

    /// Gives the program's process id, once it has one.
    pub(crate) async fn pid(&self) -> u32 {
        let file = self.file("pid");
        crate::rig::eventually("the program starts", || file.exists()).await;
        fs::read_to_string(file).unwrap().trim().parse().unwrap()
    }

    /// Fails unless the terminal is as it was before the program: settings, modes, echo, and paste without brackets.
    /// The program has ended.
    pub(crate) async fn assert_restored(&self) {
        let settings = |name| fs::read_to_string(self.file(name)).unwrap();
        assert_eq!(settings("before"), settings("after"), "stty -g, before and after");
        let modes = self.tmux(&["display-message", "-p", MODES]).await;
        let screen = framed(&self.screen().await);
        assert_eq!(modes.trim(), USUAL_MODES, "{MODES}\n{screen}");
        self.paste("pasted afterwards").await;
        let screen = self.see("pasted afterwards").await;
        assert!(
            !screen.contains("200~"),
            "pastes come in brackets\n{}",
            framed(&screen)
        );
    }

    /// Takes the terminal away, as closing its window does, and gives the program's exit code.
    pub(crate) async fn close(&self) -> i32 {
        self.tmux(&["kill-server"]).await;
        self.exit_code_unseen(false).await
    }

    /// Gives the screen with colours and attributes as `cargo xtask shots` reads it: size and cursor, title, text.
    pub(crate) async fn picture(&self, title: &str) -> String {
        let format = "#{pane_width} #{pane_height}#{?cursor_flag, #{cursor_x} #{cursor_y},}";
        let size = self.tmux(&["display-message", "-p", format]).await;
        let text = self.tmux(&["capture-pane", "-p", "-e", "-N"]).await;
        format!("{}\n{title}\n{text}", size.trim())
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // Gone already where a test took the terminal away.
        let args = self.tmux_command(&["kill-server"]);
        let mut kill = stdx::process::blocking_command("tmux");
        kill.args(args.as_std().get_args())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        drop(kill.status());
    }
}

/// Makes a word of a shell out of any text.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Puts a screen into a frame, so that a message shows where it begins and ends.
fn framed(screen: &str) -> String {
    let line = "-".repeat(40);
    format!("{line}\n{screen}\n{line}")
}
