//! From the name of a model to the provider that serves it.

use crate::schema::{Price, Provider, Settings};

/// A model and the provider that serves it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ModelChoice<'a> {
    /// The provider.
    pub provider: &'a Provider,
    /// The model's name on the wire.
    pub model: &'a str,
}

impl ModelChoice<'_> {
    /// Gives the `provider/model` form, which names this choice and no other.
    #[must_use]
    pub fn reference(&self) -> String {
        format!("{}/{}", self.provider.name, self.model)
    }

    /// Gives how many tokens fit, `None` if nobody said. 0 turns automatic compaction off.
    #[must_use]
    pub fn context_window(&self) -> Option<u64> {
        let limits = &self.provider.limits;
        let own = limits
            .model_overrides
            .get(self.model)
            .and_then(|model| model.context_window);
        own.or(limits.context_window)
    }

    /// Gives the most tokens of an answer: 0 leaves it to the provider, -1 never sends a limit.
    #[must_use]
    pub fn max_output_tokens(&self) -> i64 {
        let limits = &self.provider.limits;
        let own = limits
            .model_overrides
            .get(self.model)
            .and_then(|model| model.max_output_tokens);
        own.unwrap_or(limits.max_output_tokens)
    }

    /// Gives the level of reasoning, `None` if nobody said.
    #[must_use]
    pub fn effort(&self) -> Option<&str> {
        let own = self
            .provider
            .limits
            .model_overrides
            .get(self.model)
            .and_then(|model| model.effort.as_deref());
        own.or(self.provider.reasoning.effort.as_deref())
    }

    /// Gives what it costs, `None` if nobody said, which is not the same as nothing.
    #[must_use]
    pub fn price(&self) -> Option<&Price> {
        let pricing = &self.provider.pricing;
        pricing.prices.get(self.model).or(pricing.price.as_ref())
    }
}

/// A name that no provider knows.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown model \"{reference}\" (configured: {})", configured.join(", "))]
pub struct UnknownModel {
    /// The name given.
    pub reference: String,
    /// The names that exist.
    pub configured: Vec<String>,
}

impl UnknownModel {
    /// Says what to do.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        "name a configured model with --model or default_model, or run `reasonix setup`; a host has its own configuration: \
         copy the [[providers]] entry into ~/.reasonix/config.toml on the host and store its key with \
         `reasonix remote key HOST NAME`"
    }
}

impl Provider {
    /// Gives the models of this provider in the order they are written.
    pub fn model_names(&self) -> impl Iterator<Item = &str> {
        self.models
            .iter()
            .chain(&self.model)
            .map(String::as_str)
            .filter(|name| !name.is_empty())
    }

    /// Gives the model meant by the provider's name.
    #[must_use]
    pub fn default_model(&self) -> Option<&str> {
        self.default.as_deref().or_else(|| self.model_names().next())
    }
}

impl Settings {
    /// Finds a model by `provider/model`, by a provider's name, or by a model's name, in this order. Of several
    /// providers with the same model, the first is meant.
    ///
    /// # Errors
    /// [`UnknownModel`], which lists the names that exist.
    pub fn resolve_model<'a>(&'a self, reference: &str) -> Result<ModelChoice<'a>, UnknownModel> {
        let provider = |name: &str| self.providers.iter().find(|provider| provider.name == name);
        let explicit = reference
            .split_once('/')
            .and_then(|(name, model)| choice(provider(name)?, model));
        let by_provider = || {
            let provider = provider(reference)?;
            choice(provider, provider.default_model()?)
        };
        let by_model = || {
            self.providers
                .iter()
                .find_map(|provider| choice(provider, reference))
        };
        explicit
            .or_else(by_provider)
            .or_else(by_model)
            .ok_or_else(|| UnknownModel {
                reference: reference.to_owned(),
                configured: self.model_references(),
            })
    }

    /// Lists every model as `provider/model`.
    #[must_use]
    pub fn model_references(&self) -> Vec<String> {
        let of_provider = |provider: &Provider| {
            let name = provider.name.clone();
            provider
                .model_names()
                .map(move |model| format!("{name}/{model}"))
                .collect::<Vec<_>>()
        };
        self.providers.iter().flat_map(of_provider).collect()
    }
}

fn choice<'a>(provider: &'a Provider, model: &str) -> Option<ModelChoice<'a>> {
    let model = provider.model_names().find(|name| *name == model)?;
    Some(ModelChoice { provider, model })
}
