//! Tells from a linker symbol which crate it comes from.

/// What comes with every Rust program. Their generic code counts for the crate it was made for.
const STANDARD: [&str; 3] = ["core", "alloc", "std"];
/// What has no Rust name: the C library, and the C and assembly parts of crates.
pub(crate) const FOREIGN: &str = "(C and assembly)";

/// Names the crate of a mangled symbol: the first one in its path that is not the standard library, else that.
pub(crate) fn crate_of(symbol: &str) -> &str {
    let named = if let Some(path) = symbol.strip_prefix("_ZN") {
        legacy(path)
    } else if let Some(path) = symbol.strip_prefix("_R") {
        v0(path)
    } else {
        return FOREIGN;
    };
    let own = named.iter().find(|name| !STANDARD.contains(name));
    own.or(named.first()).copied().unwrap_or(FOREIGN)
}

/// Finds crate names in the scheme that prefixes each part with its length, such as `4core3ptr`. Types inside a part
/// are written out, with `..` between the parts of their path.
fn legacy(path: &str) -> Vec<&str> {
    let mut named = Vec::new();
    let mut rest = path;
    while let Some((part, after)) = counted(rest) {
        if named.is_empty() && !part.contains(['$', '.']) {
            named.push(part);
        }
        // A path inside a type: the word before the first dots, behind a sign or at the beginning.
        for piece in part.split('$') {
            if let Some((word, _)) = piece.split_once("..")
                && is_name(word)
            {
                named.push(word);
            }
        }
        rest = after;
    }
    named
}

/// Finds crate names in the scheme of RFC 2603: a crate root is `C`, a disambiguator `s…_`, and its name with a length.
fn v0(path: &str) -> Vec<&str> {
    let roots = path.split("Cs").skip(1);
    roots
        .filter_map(|root| {
            let (number, name) = root.split_once('_')?;
            let is_number = number.bytes().all(|byte| byte.is_ascii_alphanumeric());
            counted(name)
                .map(|(name, _)| name)
                .filter(|name| is_number && is_name(name))
        })
        .collect()
}

/// Takes a length and so many bytes.
fn counted(text: &str) -> Option<(&str, &str)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let length: usize = text.get(..digits)?.parse().ok()?;
    let rest = text.get(digits..)?;
    Some((rest.get(..length)?, rest.get(length..)?))
}

fn is_name(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_lowercase() || c == '_')
        && word
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && !matches!(word, "_" | "mut" | "dyn" | "const")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_name_their_crate() {
        for (symbol, want) in [
            ("_ZN5russh6client7Session3new17h0123456789abcdefE", "russh"),
            (
                "_ZN4core3ptr43drop_in_place$LT$russh..client..Session$GT$17hE",
                "russh",
            ),
            (
                "_ZN58_$LT$hyper..body..Incoming$u20$as$u20$core..fmt..Debug$GT$3fmt17hE",
                "hyper",
            ),
            (
                "_ZN54_$LT$$RF$mut$u20$serde_json..Value$u20$as$u20$x..Y$GT$3fmt17hE",
                "serde_json",
            ),
            ("_ZN4core3fmt9Formatter3pad17hE", "core"),
            ("_RNvNtCs1234_7mycrate3foo3bar", "mycrate"),
            ("_RINvNtCsAb1_4core3ptr13drop_in_placeNtCs9_5tokio4TaskE", "tokio"),
            ("ring_core_0_17_aes_gcm", FOREIGN),
            ("memcpy", FOREIGN),
            ("_ZN", FOREIGN),
            ("_ZN9999x", FOREIGN),
        ] {
            assert_eq!(crate_of(symbol), want, "{symbol}");
        }
    }
}
