//! From names to models.

use crate::support::Fixture;

const PROVIDERS: &str = "
[[providers]]
name = 'a'
base_url = 'http://a'
models = ['m1', 'vendor/m2']
default = 'vendor/m2'
context_window = 1000
max_output_tokens = 7
effort = 'low'
price = { input = 1, output = 2.5 }
model_overrides.m1 = { context_window = 0, max_output_tokens = -1, effort = 'max' }
prices.m1 = { cache_hit = 0.1, input = 3, output = 4, currency = 'CNY' }

[[providers]]
name = 'b'
kind = 'anthropic'
request_url = 'http://b/x'
model = 'm1'
api_key_env = 'B_KEY'
headers = { X-A = '1' }
extra_body = { top_p = 0.5, nested = { a = [1] } }
";

#[test]
fn references_are_understood_in_order() {
    let loaded = Fixture::new().user(PROVIDERS).load();
    let resolve = |name: &str| {
        loaded
            .settings
            .resolve_model(name)
            .map(|choice| choice.reference())
    };
    for (name, expected) in [
        ("a", "a/vendor/m2"),
        ("b", "b/m1"),
        ("a/m1", "a/m1"),
        ("b/m1", "b/m1"),
        ("a/vendor/m2", "a/vendor/m2"),
        ("m1", "a/m1"),
        ("vendor/m2", "a/vendor/m2"),
    ] {
        assert_eq!(resolve(name).as_deref(), Ok(expected), "{name}");
    }
    let error = loaded.settings.resolve_model("x").unwrap_err();
    assert_eq!(
        error.to_string(),
        "unknown model \"x\" (configured: a/m1, a/vendor/m2, b/m1)"
    );
    for name in ["", "a/", "/m1", "a/x", "c/m1"] {
        assert!(resolve(name).is_err(), "{name}");
    }
    assert_eq!(
        loaded.settings.default_model, "a",
        "the first provider, as nobody chose"
    );
}

#[test]
fn values_of_a_model_win_over_those_of_its_provider() {
    let loaded = Fixture::new().user(PROVIDERS).load();
    let own = loaded.settings.resolve_model("a/m1").unwrap();
    assert_eq!(
        (own.context_window(), own.max_output_tokens(), own.effort()),
        (Some(0), -1, Some("max"))
    );
    assert_eq!(own.price().unwrap().currency.as_deref(), Some("CNY"));
    let shared = loaded.settings.resolve_model("a").unwrap();
    assert_eq!(
        (
            shared.context_window(),
            shared.max_output_tokens(),
            shared.effort()
        ),
        (Some(1000), 7, Some("low"))
    );
    assert_eq!(shared.price().unwrap().output, Some(2.5));
    let none = loaded.settings.resolve_model("b").unwrap();
    assert_eq!(
        (none.context_window(), none.price(), none.effort()),
        (None, None, None)
    );
    assert_eq!(none.provider.extra_body["nested"]["a"][0].as_integer(), Some(1));
    assert_eq!(none.provider.headers["X-A"], "1");
}

#[test]
fn the_built_in_providers_are_there_until_one_is_configured() {
    let loaded = Fixture::new().load();
    let choice = loaded
        .settings
        .resolve_model(&loaded.settings.default_model)
        .unwrap();
    assert_eq!(choice.reference(), "deepseek-flash/deepseek-v4-flash");
    assert_eq!(choice.provider.api_key_env.as_deref(), Some("DEEPSEEK_API_KEY"));
    assert_eq!(choice.context_window(), Some(1_000_000));
    assert_eq!(choice.price().unwrap().output, Some(1.2));
    assert!(
        Fixture::new()
            .user(PROVIDERS)
            .load()
            .settings
            .resolve_model("deepseek-flash")
            .is_err()
    );
}
