//! What Markdown looks like.

use insta::assert_snapshot;
use richtext::{Stream, markdown};

use crate::dump::{plain, styled, styles};

const EVERYTHING: &str = "\
# Title of the answer
Some *emphasis*, **strong**, ~~gone~~ and `code` in a paragraph that is longer than one line,
which goes on here.\\
After a hard break.

## Lists

- one
- two with a text that is long enough to need a second line
  - deeper
    1. deepest
- [x] done
- [ ] open

9. nine
10. ten

    a second paragraph of ten

> A quote with a [link](https://example.org/path) and
> <https://example.org>.
>
> > And one within.

> [!WARNING]
> Careful.

---

![a picture](cat.png) and <b>HTML</b> and a [reference][1].

[1]: https://example.org/ref

<details>
block
</details>

    indented code
";

#[test]
fn everything_at_80() {
    assert_snapshot!(plain(&markdown(EVERYTHING, 80, &styles())));
}

#[test]
fn everything_at_30() {
    assert_snapshot!(plain(&markdown(EVERYTHING, 30, &styles())));
}

#[test]
fn colours() {
    let text = "# Head\n\nA *b* **c** ***d*** ~~e~~ `f` [g](h)\n\n> quote `x`\n\n```rust\n// why\nlet a = \"s\\\"t\"; /* x\ny */ fn\n```\n\n```diff\n+a\n-b\n c\n```\n\n```sh\nif [ $# = 1 ] # c\n```";
    assert_snapshot!(styled(&markdown(text, 80, &styles())));
}

const TABLE: &str = "\
| Crate | What it *does* | Lines |
|:------|:--------------:|------:|
| `link` | keeps one connection alive, whatever happens to the network | 12 |
| richtext | 汉字 and words | 1200 |
";

#[test]
fn tables() {
    let at = |width| plain(&markdown(TABLE, width, &styles()));
    assert_snapshot!([at(80), at(40), at(20)].join("\n\n"));
}

#[test]
fn code_keeps_its_blanks_and_long_lines_go_on() {
    let text = "```py\nif a:\n\tb = 1  # a comment that is long\n\n    c\n```";
    assert_snapshot!(plain(&markdown(text, 20, &styles())));
}

#[test]
fn what_a_character_reference_names_is_made_safe() {
    let lines = markdown(
        "a&#x202e;b&#27;c&#x9b;d [x](&#x202e;y) `\u{1b}]0;t\u{7}`",
        80,
        &styles(),
    );
    assert_eq!(
        plain(&lines),
        "a\u{fffd}b\u{fffd}c\u{fffd}d x (\u{fffd}y) \u{fffd}]0;t\u{fffd}"
    );
}

#[test]
fn odd_texts() {
    for (text, expected) in [
        ("", ""),
        ("\n\n \n", ""),
        ("- ", "• "),
        ("**open", "**open"),
        ("```", ""),
        ("```\n", ""),
        ("a<br>b", "a\nb"),
        ("[]()", ""),
        ("[](u)", "u"),
        ("<a@b.org>", "a@b.org"),
        ("#", ""),
        ("1. a\n2. b", "1. a\n2. b"),
        ("a\r\n\r\nb\rc", "a\n\nb c"),
        ("| a |\n|---|", "a\n─"),
        ("- a\n\n  b\n- c", "• a\n\n  b\n• c"),
        ("- - a", "• ◦ a"),
        ("-\n-", "•\n•"),
    ] {
        let shown: Vec<_> = markdown(text, 40, &styles())
            .iter()
            .map(ToString::to_string)
            .collect();
        let shown: Vec<_> = shown.iter().map(|line| line.trim_end()).collect();
        assert_eq!(shown.join("\n"), expected.trim_end(), "{text:?}");
    }
}

#[test]
fn a_long_block_of_code_is_rendered_in_parts_that_do_not_show() {
    let code: String = (0..20_000).map(|n| format!("line {n}\n")).collect();
    let lines = markdown(&format!("```rust\n{code}```\nend"), 40, &styles());
    assert_eq!(lines.len(), 1 + 20_000 + 1 + 1);
    assert_eq!(lines[0].to_string(), "  rust");
    for (n, line) in lines[1..=20_000].iter().enumerate() {
        assert_eq!(line.to_string(), format!("  line {n}"));
    }
}

#[test]
fn another_width_renders_again() {
    let mut stream = Stream::new(80, styles());
    stream.push("# A\n\none two three\n\nfour ");
    assert_eq!(stream.lines().len(), 5);
    stream.restyle(8, styles());
    stream.push("five");
    assert_eq!(
        plain(stream.lines()),
        plain(&markdown("# A\n\none two three\n\nfour five", 8, &styles()))
    );
}
