//! `[[providers]]`

use std::collections::BTreeMap;

use super::{Key, Kind, choice, table};

choice! {
    /// The wire format of a provider.
    pub enum ProviderKind, default OpenAi {
        /// Chat completions.
        OpenAi = "openai",
        /// Messages.
        Anthropic = "anthropic",
        /// Responses.
        Responses = "responses",
    }
}

choice! {
    /// Whether a model is asked to reason.
    pub enum Thinking, default Enabled {
        /// It is.
        Enabled = "enabled",
        /// It is not.
        Disabled = "disabled",
        /// It decides itself.
        Adaptive = "adaptive",
    }
}

table! {
    /// An endpoint that serves one or more models.
    pub struct Provider {
        /// What `default_model` and `--model` call it.
        name: String = String::new(), Kind::Text;
        /// The wire format: `openai`, `anthropic` or `responses`.
        kind: ProviderKind = ProviderKind::default(), Kind::Choice(ProviderKind::WORDS, &[]);
        /// The endpoint's address, to which the path of the wire format is added.
        base_url: Option<String> = None, Kind::Text;
        /// The exact address of requests, to which nothing is added.
        request_url: Option<String> = None, Kind::Text;
        /// The only model of this endpoint.
        model: Option<String> = None, Kind::Text;
        /// The models of this endpoint.
        models: Vec<String> = Vec::new(), Kind::TextList;
        /// The model meant by the provider's name. Without it, the first one.
        default: Option<String> = None, Kind::Text;
        /// The name of the key in Reasonix's `.env`. The value is never taken from anywhere else.
        api_key_env: Option<String> = None, Kind::Text;
        /// More headers of requests.
        headers: BTreeMap<String, String> = BTreeMap::new(), Kind::TextMap;
        /// More fields of request bodies. They cannot replace `model`, `messages`, `tools`, `stream`, `thinking`.
        extra_body: toml::Table = toml::Table::new(), Kind::Anything;
        /// Token limits.
        #[serde(flatten)]
        limits: Limits = Limits::default(), Kind::Group(&Limits::KEYS);
        /// Prices.
        #[serde(flatten)]
        pricing: Pricing = Pricing::default(), Kind::Group(&Pricing::KEYS);
        /// How much the models reason.
        #[serde(flatten)]
        reasoning: Reasoning = Reasoning::default(), Kind::Group(&Reasoning::KEYS);
    }
    later &[
        Key::later("chat_url", Kind::Text, &["An older form of `request_url`."]),
        Key::later("models_url", Kind::Text, &["Where the list of models is."]),
        Key::later("auth_header", Kind::Bool, &["Whether an `anthropic` endpoint wants a bearer token."]),
        Key::later("balance_url", Kind::Text, &["Where the account's balance is."]),
        Key::later("billing_mode", Kind::Text, &["`payg` or `subscription_equivalent`."]),
        Key::later("vision", Kind::Bool, &["Whether the models read images."]),
        Key::later("vision_models", Kind::TextList, &["The models that read images."]),
        Key::later("vision_detail", Kind::Text, &["How closely they look."]),
        Key::later("web_search", Kind::Bool, &["Whether the endpoint searches the web."]),
        Key::later("no_proxy", Kind::Bool, &["Whether it is reached without a proxy."]),
        Key::later("preset_id", Kind::Text, &["The built-in entry that this one began as."]),
        Key::later("responses_mode", Kind::Text, &["How `responses` keeps state."]),
        Key::later("responses_stateful", Kind::Bool, &["Whether `responses` keeps state."]),
        Key::later("strip_chain_of_thought", Kind::Bool, &["Whether earlier reasoning is sent empty."]),
    ];
}

table! {
    /// Token limits of an endpoint.
    pub struct Limits {
        /// How many tokens fit. 0 turns automatic compaction off.
        context_window: Option<u64> = None, Kind::Integer(0, 1_000_000_000);
        /// The most tokens of an answer. 0 leaves it to the provider, -1 never sends a limit.
        max_output_tokens: i64 = 0, Kind::Integer(-1, 1_000_000_000);
        /// Other values for single models, by model.
        model_overrides: BTreeMap<String, ModelOverride> = BTreeMap::new(), Kind::TableMap(&ModelOverride::KEYS);
    }
    later &[];
}

table! {
    /// Values for one model of an endpoint.
    pub struct ModelOverride {
        /// How many tokens fit.
        context_window: Option<u64> = None, Kind::Integer(0, 1_000_000_000);
        /// The most tokens of an answer.
        max_output_tokens: Option<i64> = None, Kind::Integer(-1, 1_000_000_000);
        /// How much it reasons.
        effort: Option<String> = None, Kind::Text;
    }
    later &[
        Key::later("vision", Kind::Bool, &["Whether it reads images."]),
        Key::later("reasoning_protocol", Kind::Text, &["How it is asked to reason."]),
        Key::later("supported_efforts", Kind::TextList, &["The levels it knows."]),
        Key::later("default_effort", Kind::Text, &["The level it uses by itself."]),
    ];
}

table! {
    /// Prices of an endpoint.
    pub struct Pricing {
        /// The price of the only model.
        price: Option<Price> = None, Kind::Table(&Price::KEYS);
        /// Prices by model.
        prices: BTreeMap<String, Price> = BTreeMap::new(), Kind::TableMap(&Price::KEYS);
        /// The currency of prices that name none: `USD` or `CNY`; `USD` where this is not set.
        billing_currency: Option<String> = None, Kind::Choice(&CURRENCIES, &[]);
    }
    later &[];
}

table! {
    /// What a million tokens cost. Without a price for input or for output the cost is not known.
    pub struct Price {
        /// Input that the provider had in its cache. Without it, it costs as much as other input.
        cache_hit: Option<f64> = None, Kind::Float(0.0, 1e9);
        /// Other input.
        input: Option<f64> = None, Kind::Float(0.0, 1e9);
        /// Output.
        output: Option<f64> = None, Kind::Float(0.0, 1e9);
        /// The currency: `USD` or `CNY`.
        currency: Option<String> = None, Kind::Choice(&CURRENCIES, &[]);
    }
    later &[];
}

table! {
    /// How much the models of an endpoint reason.
    pub struct Reasoning {
        /// `enabled`, `disabled` or `adaptive`.
        thinking: Option<Thinking> = None, Kind::Choice(Thinking::WORDS, &[]);
        /// The level: `low`, `medium`, `high`, `max`, `disabled`; which exist depends on the model.
        effort: Option<String> = None, Kind::Text;
        /// How the level is sent: `auto`, `deepseek`, `openai`, `none`, `glm`, `kimi-k3` or `anthropic`.
        reasoning_protocol: Option<String> = None, Kind::Choice(&REASONING_PROTOCOLS, &[]);
    }
    later &[
        Key::later("supported_efforts", Kind::TextList, &["The levels the models know."]),
        Key::later("default_effort", Kind::Text, &["The level used where none is given."]),
    ];
}

/// The currencies that vendors bill in.
const CURRENCIES: [&str; 2] = ["USD", "CNY"];

/// The ways in which reasoning is asked for and sent back.
const REASONING_PROTOCOLS: [&str; 7] = [
    "auto",
    "deepseek",
    "openai",
    "none",
    "glm",
    "kimi-k3",
    "anthropic",
];

/// Gives the providers that exist when none is configured.
#[must_use]
pub fn presets() -> Vec<Provider> {
    let flash = Price {
        cache_hit: Some(0.006),
        input: Some(0.3),
        output: Some(1.2),
        currency: Some("USD".to_owned()),
    };
    let pro = Price {
        cache_hit: Some(0.044),
        input: Some(1.32),
        output: Some(3.96),
        currency: Some("USD".to_owned()),
    };
    vec![
        deepseek(
            "deepseek-flash",
            &["deepseek-v4-flash", "deepseek-v4-flash-vision-exp"],
            &flash,
        ),
        deepseek("deepseek-pro", &["deepseek-v4-pro"], &pro),
    ]
}

fn deepseek(name: &str, models: &[&str], price: &Price) -> Provider {
    Provider {
        name: name.to_owned(),
        base_url: Some("https://api.deepseek.com".to_owned()),
        models: models.iter().map(|model| (*model).to_owned()).collect(),
        api_key_env: Some("DEEPSEEK_API_KEY".to_owned()),
        limits: Limits {
            context_window: Some(1_000_000),
            ..Limits::default()
        },
        pricing: Pricing {
            prices: models
                .iter()
                .map(|model| ((*model).to_owned(), price.clone()))
                .collect(),
            ..Pricing::default()
        },
        reasoning: Reasoning {
            thinking: Some(Thinking::Enabled),
            effort: Some("high".to_owned()),
            reasoning_protocol: None,
        },
        ..Provider::default()
    }
}
