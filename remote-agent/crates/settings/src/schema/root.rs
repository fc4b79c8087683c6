//! The top level of a file.

use super::{Agent, Key, Kind, Permissions, Provider, Remote, Sandbox, Serve, Tools, later, table};

table! {
    /// All settings, resolved.
    pub struct Settings {
        /// The model to use: a provider's name, a model's name, or `provider/model`. Without it, the first
        /// configured provider's default model is used.
        default_model: String = "deepseek-flash".to_owned(), Kind::Text;
        /// The language of the interface, such as `zh`. Empty means the one of the terminal.
        language: String = String::new(), Kind::Text;
        /// How the model is spoken to.
        agent: Agent = Agent::default(), Kind::Table(&Agent::KEYS);
        /// The endpoints that serve models. Defining one replaces the built-in list.
        providers: Vec<Provider> = Vec::new(), Kind::Tables(&Provider::KEYS, &["name", "base_url|request_url"]), UserOnly;
        /// What runs without asking.
        permissions: Permissions = Permissions::default(), Kind::Table(&Permissions::KEYS);
        /// What commands can reach.
        sandbox: Sandbox = Sandbox::default(), Kind::Table(&Sandbox::KEYS);
        /// How the tools behave.
        tools: Tools = Tools::default(), Kind::Table(&Tools::KEYS);
        /// The server on a host.
        serve: Serve = Serve::default(), Kind::Table(&Serve::KEYS), UserOnly;
        /// The hosts that this program connects to.
        remote: Remote = Remote::default(), Kind::Table(&Remote::KEYS), UserOnly;
    }
    later &[
        Key::later("config_version", Kind::Integer(0, i64::MAX), &["A marker of the program that wrote the file."]),
        Key::later("credentials_store", Kind::Text, &["Where older versions kept keys."]).user_only(),
        Key::later("cli_metrics", Kind::Choice(&["auto", "on", "off"], &[]), &["Whether usage may be reported."]).user_only(),
        Key::later("ui", Kind::Table(&later::UI), &["How the screen looks."]),
        Key::later("billing", Kind::Table(&later::BILLING), &["How costs are shown."]).user_only(),
        Key::later("notifications", Kind::Table(&later::NOTIFICATIONS), &["When the desktop is notified."]),
        Key::later("network", Kind::Table(&later::NETWORK), &["How the network is reached."]).user_only(),
        Key::later("environment", Kind::Table(&later::ENVIRONMENT), &["What the model is told about the machine."]),
        Key::later("lsp", Kind::Table(&later::LSP), &["Language servers."]).user_only(),
        Key::later("browser", Kind::Table(&later::BROWSER), &["The browser tool."]).user_only(),
        Key::later("skills", Kind::Table(&later::SKILLS), &["Skills."]),
        Key::later("checkpoints", Kind::Table(&later::CHECKPOINTS), &["Checkpoints of files."]),
        Key::later("statusline", Kind::Table(&later::STATUSLINE), &["The status line."]).user_only(),
        Key::later("secrets", Kind::Table(&later::SECRETS), &["How secrets are kept from tools."]).user_only(),
        Key::later("plugins", Kind::Anything, &["MCP servers."]),
        Key::later("mcp", Kind::Anything, &["MCP servers, in the other spelling."]),
        Key::later("hooks", Kind::Anything, &["Commands run at events."]).user_only(),
        Key::later("bot", Kind::Anything, &["Chat platforms."]).user_only(),
        Key::later("desktop", Kind::Anything, &["The desktop program."]).user_only(),
        Key::later("telemetry", Kind::Anything, &["Usage reports."]).user_only(),
    ];
}
