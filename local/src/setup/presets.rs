//! The providers that the setup offers.

use settings::NewProvider;

/// One line of the menu.
pub(super) struct Preset {
    /// What a person reads.
    pub(super) title: &'static str,
    /// What it leads to.
    pub(super) recipe: Recipe,
}

/// How a preset becomes settings.
pub(super) enum Recipe {
    /// It is built in and needs only its key.
    BuiltIn {
        reference: &'static str,
        key_name: &'static str,
    },
    /// A service that takes a key. The model is asked for, with the example beside the question.
    Hosted {
        name: &'static str,
        base_url: &'static str,
        key_name: &'static str,
        example: &'static str,
    },
    /// A server on this machine or near it, without a key.
    Local {
        name: &'static str,
        base_url: &'static str,
    },
    /// Everything is asked for.
    Other,
}

/// The menu. Models of services change their names, so they are examples and no defaults.
pub(super) const PRESETS: &[Preset] = &[
    Preset {
        title: "DeepSeek",
        recipe: Recipe::BuiltIn {
            reference: "deepseek-flash",
            key_name: "DEEPSEEK_API_KEY",
        },
    },
    Preset {
        title: "OpenAI",
        recipe: Recipe::Hosted {
            name: "openai",
            base_url: "https://api.openai.com/v1",
            key_name: "OPENAI_API_KEY",
            example: "gpt-5-mini",
        },
    },
    Preset {
        title: "Anthropic (over its chat completions endpoint)",
        recipe: Recipe::Hosted {
            name: "anthropic",
            base_url: "https://api.anthropic.com/v1",
            key_name: "ANTHROPIC_API_KEY",
            example: "claude-sonnet-4-5",
        },
    },
    Preset {
        title: "OpenRouter",
        recipe: Recipe::Hosted {
            name: "openrouter",
            base_url: "https://openrouter.ai/api/v1",
            key_name: "OPENROUTER_API_KEY",
            example: "deepseek/deepseek-chat",
        },
    },
    Preset {
        title: "Ollama (local, no key)",
        recipe: Recipe::Local {
            name: "ollama",
            base_url: "http://127.0.0.1:11434/v1",
        },
    },
    Preset {
        title: "llama.cpp server (local, no key)",
        recipe: Recipe::Local {
            name: "llama-cpp",
            base_url: "http://127.0.0.1:8080/v1",
        },
    },
    Preset {
        title: "vLLM (local, no key)",
        recipe: Recipe::Local {
            name: "vllm",
            base_url: "http://127.0.0.1:8000/v1",
        },
    },
    Preset {
        title: "LM Studio (local, no key)",
        recipe: Recipe::Local {
            name: "lm-studio",
            base_url: "http://127.0.0.1:1234/v1",
        },
    },
    Preset {
        title: "Another endpoint that speaks chat completions",
        recipe: Recipe::Other,
    },
];

/// Gives the entry that stands for the built-in DeepSeek model where providers are configured, and its reference.
pub(super) fn deepseek() -> (NewProvider, String) {
    let provider = NewProvider {
        name: "deepseek-flash".to_owned(),
        base_url: "https://api.deepseek.com".to_owned(),
        model: "deepseek-v4-flash".to_owned(),
        api_key_env: Some("DEEPSEEK_API_KEY".to_owned()),
    };
    let reference = format!("{}/{}", provider.name, provider.model);
    (provider, reference)
}
