//! What diffs look like.

use insta::assert_snapshot;
use richtext::{Diff, LineNumbers};

use crate::dump::{plain, styled, styles};

const OLD: &str =
    "fn main() {\n    let a = 1;\n    print(a);\n}\n// 1\n// 2\n// 3\n// 4\n// 5\n// 6\n// 7\nlast\n";
const NEW: &str =
    "fn main() {\n    let b = 1;\n    print(b);\n\tmore();\n}\n// 1\n// 2\n// 3\n// 4\n// 5\n// 6\n// 7\n";

#[test]
fn changed_words_are_marked() {
    let diff = Diff::between("src/main.rs", OLD, NEW, 2, LineNumbers::Shown);
    assert_eq!(diff.counts(), (3, 3));
    assert_snapshot!(styled(&diff.lines(60, 100, &styles())));
}

#[test]
fn pieces_have_no_numbers_and_long_lines_go_on() {
    let diff = Diff::between(
        "",
        "a\n",
        &format!("a\n{}\n", "long ".repeat(10)),
        3,
        LineNumbers::Hidden,
    );
    assert_snapshot!(plain(&diff.lines(24, 100, &styles())));
}

#[test]
fn the_rest_is_counted() {
    let new: String = (0..100_000).map(|n| format!("{n}\n")).collect();
    let diff = Diff::between("f", "", &new, 3, LineNumbers::Shown);
    let lines = diff.lines(40, 5, &styles());
    assert_eq!(
        plain(&lines),
        "f (+100000 -0)\n   1 + 0\n   2 + 1\n   3 + 2\n   4 + 3\n… 99996 more lines"
    );
}

#[test]
fn large_texts_with_nothing_in_common_are_not_compared() {
    let side = |sign| (0..50_000).map(|n| format!("{sign}{n}\n")).collect::<String>();
    let diff = Diff::between("f", &side('a'), &side('b'), 3, LineNumbers::Shown);
    assert_eq!(diff.counts(), (50_000, 50_000));
}

#[test]
fn line_ends_alone() {
    let diff = Diff::between("", "a\r\nb", "a\nb", 3, LineNumbers::Shown);
    assert_eq!(
        plain(&diff.lines(80, 9, &styles())).trim(),
        "only line ends or invisible characters differ"
    );
    let same = Diff::between("", "a", "a", 3, LineNumbers::Shown);
    assert_eq!(plain(&same.lines(80, 9, &styles())), "");
}

const GIT: &str = "\
diff --git a/src/a.rs b/src/a.rs
index 1234567..89abcde 100644
--- a/src/a.rs
+++ b/src/a.rs
@@ -1,3 +1,4 @@ fn head()
 same
-old
+new
+more

@@ -10 +11 @@
-x
\\ No newline at end of file
+y
diff --git a/gone b/gone
deleted file mode 100644
--- a/gone
+++ /dev/null
@@ -1 +0,0 @@
-bye
diff --git a/from b/to
similarity index 100%
rename from from
rename to to
";

#[test]
fn unified() {
    let diff = Diff::parse(GIT).unwrap();
    assert_eq!(diff.counts(), (3, 3));
    assert_snapshot!(plain(&diff.lines(60, 100, &styles())));
}

#[test]
fn what_is_no_diff() {
    for text in [
        "",
        "hello",
        "--- a\nhello",
        "@@ -1 +1 @@\nbad",
        "diff --git a/x b/x\nfatal: no",
        "@@ -x +y @@\n",
        "@@ -99999999999999999999 +1 @@\n+a",
    ] {
        assert_eq!(Diff::parse(text), None, "{text:?}");
    }
}
