//! `write_file`: a whole new content for a file.

use conversation::{Effect, ToolSpec};
use serde::Deserialize;
use serde_json::Value;

use super::{arguments, text_of};
use crate::{
    BoxFuture, Subject, Tool, ToolContext, ToolError, ToolResult, paths, publish,
    spec::{spec, text},
};

/// Creates a file or replaces all of its content.
pub(super) struct WriteFile {
    spec: ToolSpec,
}

#[derive(Deserialize)]
struct Args {
    path: String,
    content: String,
}

impl WriteFile {
    pub(super) fn new() -> Self {
        let description = "Creates a file, with its folders, or replaces the whole content of one. An existing file \
            must have been read first. To change a part of a file use edit_file.";
        let parameters = [
            text("path", "File to write, absolute or relative to the workspace."),
            text("content", "The complete content of the file."),
        ];
        Self {
            spec: spec("write_file", description, parameters),
        }
    }
}

impl Tool for WriteFile {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn effect(&self) -> Effect {
        Effect::Write
    }

    fn subjects(&self, args: &Value, cx: &ToolContext) -> Vec<Subject> {
        vec![paths::subject(text_of(args, "path"), cx)]
    }

    fn run<'a>(&'a self, args: Value, cx: &'a ToolContext) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let args = match arguments::<Args>(args) {
                Ok(args) => args,
                Err(error) => return ToolResult::failed(&error),
            };
            if cx.token.is_cancelled() {
                return ToolResult::failed(&ToolError::Cancelled);
            }
            let cx = cx.clone();
            stdx::task::blocking(move || write(&args, &cx)).await.into()
        })
    }
}

fn write(args: &Args, cx: &ToolContext) -> Result<String, ToolError> {
    let place = paths::for_writing(&args.path, cx)?;
    let remark = publish::publish(&place, args.content.as_bytes(), cx)?;
    let remark = remark.map(|remark| format!("\n({remark})")).unwrap_or_default();
    Ok(format!(
        "wrote {} bytes to {}{remark}",
        args.content.len(),
        place.shown.display()
    ))
}
