//! From the start of a local run to its first model request.

use std::fs;

use anyhow::{Context as _, ensure};

use super::{
    Task,
    figure::{Figure, Runs},
    host::{Folder, clean, private, settings},
    model::Model,
    process::{Watched, check, millis},
};
use crate::system;

/// The goal, in milliseconds.
const GOAL: f64 = 60.0;

/// Runs one task again and again against a model server on loopback.
pub(super) fn run(task: &mut Task) -> anyhow::Result<()> {
    let (program, runs) = (&task.program, task.runs);
    ensure!(
        program.is_file(),
        "{} is missing: `cargo xtask dist` makes it",
        program.display()
    );
    let model = Model::start()?;
    let folder = Folder::create("start")?;
    let home = folder.path();
    fs::create_dir_all(home.join("work"))?;
    fs::create_dir_all(home.join(".reasonix"))?;
    private(&home.join(".reasonix/config.toml"), &settings(&model.base_url()))?;
    let mut times = Vec::new();
    // The first one reads the program from disk; it is not counted.
    for run in 0..=runs {
        check(&task.interrupt)?;
        let mut command = clean(system::command(program), home);
        command.args(["run", "hello"]).current_dir(home.join("work"));
        let started = system::now();
        Watched::start(command, None)?.until_end(&task.interrupt)?;
        let asked = model.first_request().context("the run asked no model")?;
        if run > 0 {
            times.push(millis(asked - started));
        }
    }
    let times = Runs::new(times);
    let note = format!(
        "{times} ms over {runs} runs of `reasonix run`; first byte of the request at the model server"
    );
    task.report.add(Figure::at_most(
        "start_to_first_model_request",
        times.median(),
        "ms",
        GOAL,
        note,
    ));
    Ok(())
}
