//! `${NAME}` and `${NAME:-default}` in values that allow it.

/// Replaces every `${NAME}` by what `lookup` gives, and `${NAME:-default}` by the default where it gives nothing.
///
/// # Errors
/// The name of a variable that has neither value nor default, or the text itself if a `${` is not closed.
pub fn expand(text: &str, lookup: impl Fn(&str) -> Option<String>) -> Result<String, String> {
    let mut result = String::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once("${") {
        let (inner, after) = behind.split_once('}').ok_or_else(|| text.to_owned())?;
        let (name, default) = match inner.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (inner, None),
        };
        let value = lookup(name).filter(|value| !value.is_empty());
        result.push_str(before);
        result.push_str(
            &value
                .or_else(|| default.map(str::to_owned))
                .ok_or_else(|| name.to_owned())?,
        );
        rest = after;
    }
    result.push_str(rest);
    Ok(result)
}

#[cfg(test)]
mod tests {
    use super::expand;

    #[test]
    fn expands_names_and_defaults() {
        let lookup = |name: &str| (name == "HOME").then(|| "/home/u".to_owned());
        assert_eq!(expand("${HOME}/.ssh", lookup).as_deref(), Ok("/home/u/.ssh"));
        assert_eq!(expand("a${X:-b}c${Y:-}", lookup).as_deref(), Ok("abc"));
        assert_eq!(expand("~/$HOME", lookup).as_deref(), Ok("~/$HOME"));
        assert_eq!(expand("${X}", lookup), Err("X".to_owned()));
        assert_eq!(expand("${HOME", lookup), Err("${HOME".to_owned()));
    }
}
