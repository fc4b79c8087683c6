//! Tables of which nothing is used yet.

use super::{Key, Keys, Kind};

const fn keys(later: &'static [Key]) -> Keys {
    Keys { used: &[], later }
}

pub(super) const UI: Keys = keys(&[
    Key::later("theme", Kind::Text, &["`auto`, `dark` or `light`."]),
    Key::later(
        "theme_style",
        Kind::Text,
        &["`graphite`, `aurora`, `slate`, `carbon`, `nocturne` or `amber`."],
    ),
    Key::later("shortcut_layout", Kind::Text, &["`classic` or `desktop`."]),
    Key::later("cursor_shape", Kind::Text, &["`underline`, `block` or `bar`."]),
    Key::later(
        "show_turn_usage",
        Kind::Bool,
        &["Whether tokens and cost stand behind each request."],
    ),
    Key::later(
        "show_reasoning",
        Kind::Bool,
        &["Whether the model's reasoning is shown."],
    ),
]);

pub(super) const BILLING: Keys = keys(&[Key::later(
    "display_currency",
    Kind::Text,
    &["`auto`, `CNY` or `USD`."],
)]);

pub(super) const NOTIFICATIONS: Keys = keys(&[
    Key::later("enabled", Kind::Bool, &["Whether there are any."]),
    Key::later("turn_done", Kind::Bool, &["When a turn is done."]),
    Key::later(
        "approval_request",
        Kind::Bool,
        &["When a call waits for approval."],
    ),
    Key::later("ask_request", Kind::Bool, &["When the model asks a question."]),
]);

const PROXY: Keys = keys(&[
    Key::later("type", Kind::Text, &["`http`, `https`, `socks5` or `socks5h`."]),
    Key::later("server", Kind::Text, &["The proxy's name."]),
    Key::later("port", Kind::Integer(1, 65_535), &["The proxy's port."]),
    Key::later("username", Kind::Text, &["The user."]),
    Key::later(
        "password",
        Kind::Secret,
        &["The password; `${NAME}` is expanded."],
    ),
]);

pub(super) const NETWORK: Keys = keys(&[
    Key::later("proxy_mode", Kind::Text, &["`auto`, `env`, `custom` or `off`."]),
    Key::later("proxy_url", Kind::Secret, &["The proxy of mode `custom`."]),
    Key::later("no_proxy", Kind::Text, &["Names reached without the proxy."]),
    Key::later(
        "proxy",
        Kind::Table(&PROXY),
        &["The proxy of mode `custom`, in parts."],
    ),
]);

pub(super) const ENVIRONMENT: Keys = keys(&[
    Key::later(
        "enabled",
        Kind::Bool,
        &["Whether the model is told about the machine."],
    ),
    Key::later(
        "offline",
        Kind::Bool,
        &["Whether the model is told that there is no network."],
    ),
    Key::later(
        "tools",
        Kind::TextMap,
        &["Absolute paths of programs worth knowing."],
    )
    .user_only(),
]);

pub(super) const LSP: Keys = keys(&[
    Key::later("enabled", Kind::Bool, &["Whether language servers are used."]),
    Key::later("servers", Kind::Anything, &["A table for each language."]),
]);

pub(super) const BROWSER: Keys = keys(&[Key::later(
    "enabled",
    Kind::Bool,
    &["Whether there is a browser tool."],
)]);

pub(super) const SKILLS: Keys = keys(&[
    Key::later("paths", Kind::TextList, &["More folders with skills."]),
    Key::later("excluded_paths", Kind::TextList, &["Folders to leave out."]),
    Key::later("disabled_skills", Kind::TextList, &["Skills to leave out."]),
    Key::later(
        "disable_implicit_invocation",
        Kind::Bool,
        &["Whether the model may not choose skills itself."],
    ),
    Key::later(
        "max_depth",
        Kind::Integer(0, 64),
        &["How deep folders are searched."],
    ),
]);

pub(super) const CHECKPOINTS: Keys = keys(&[
    Key::later(
        "retain_turns",
        Kind::Integer(i64::MIN, i64::MAX),
        &["How many turns can be taken back."],
    ),
    Key::later(
        "blob_quota_bytes",
        Kind::Integer(i64::MIN, i64::MAX),
        &["How many bytes they may take."],
    ),
]);

pub(super) const STATUSLINE: Keys = keys(&[Key::later(
    "command",
    Kind::Text,
    &["A command whose first line of output replaces the status line."],
)]);

pub(super) const SECRETS: Keys = keys(&[
    Key::later(
        "filter_subprocess_env",
        Kind::Bool,
        &["Whether names that look like secrets are kept from tools."],
    ),
    Key::later(
        "protect_sensitive_files",
        Kind::Bool,
        &["Whether files that look like secrets are kept from tools."],
    ),
]);

pub(super) const BACKGROUND_JOBS: Keys = keys(&[Key::later(
    "stalled_warning_seconds",
    Kind::Integer(0, i64::MAX),
    &["After how many quiet seconds a background job is mentioned."],
)]);

pub(super) const SHELL: Keys = keys(&[
    Key::later("prefer", Kind::Text, &["`auto`, `bash`, `powershell` or `pwsh`."]),
    Key::later("path", Kind::Text, &["The shell's absolute path."]).user_only(),
]);

pub(super) const SEARCH: Keys = keys(&[
    Key::later("engine", Kind::Text, &["Which search is used."]),
    Key::later("rg_path", Kind::Text, &["The path of an installed ripgrep."]).user_only(),
]);
