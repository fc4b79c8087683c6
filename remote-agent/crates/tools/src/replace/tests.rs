use proptest::prelude::*;

use super::*;

fn check(content: &str, old: &str, new: &str, want: &str) {
    match replace_once(content.as_bytes(), old, new) {
        Replaced::Once { content: got, .. } => assert_eq!(String::from_utf8_lossy(&got), want),
        other => panic!("{content:?} {old:?}: {other:?}"),
    }
}

#[test]
fn crlf_files_stay_crlf() {
    check(
        "one\r\ntwo\r\nthree\r\n",
        "one\ntwo",
        "one\n2a\n2b",
        "one\r\n2a\r\n2b\r\nthree\r\n",
    );
    check("one\r\ntwo\r\nthree", "two\nthree", "2\n3", "one\r\n2\r\n3");
    check("one\r\ntwo\r\n", "one\r\ntwo", "1\r\n1b\n2", "1\r\n1b\r\n2\r\n");
    check("one\r\ntwo\r\n", "one\n", "", "two\r\n");
    check("one\r\ntwo\r\n", "\ntwo", "\n2", "one\r\n2\r\n");
    check("one\r\ntwo\r\n", "two", "2\n3", "one\r\n2\r\n3\r\n");
}

#[test]
fn lf_files_stay_lf() {
    check("one\ntwo\n", "one\r\ntwo", "1\r\n2", "1\n2\n");
    check("one\ntwo\n", "one", "1\r", "1\r\ntwo\n");
    check("one", "one", "two", "two");
}

#[test]
fn mixed_files_follow_the_surroundings() {
    check("a\r\nb\nc\nd\ne\n", "b\nc", "B\nC", "a\r\nB\nC\nd\ne\n");
    check("a\r\nb\r\nc\nd\ne\n", "a\nb", "A\nB", "A\r\nB\r\nc\nd\ne\n");
    check("a\r\nb\nc\nd\n", "d", "d1\nd2", "a\r\nb\nc\nd1\nd2\n");
}

#[test]
fn replacement_and_text_are_literal() {
    for token in ["$$", "$&", "$1", "${1}", "$`", "$'", r"\1", r"\n", "%s"] {
        check("a X b", "X", token, &format!("a {token} b"));
    }
    check("a .*[( b", ".*[(", "x", "a x b");
}

#[test]
fn counts_every_place() {
    assert_eq!(replace_once(b"aaa", "aa", "b"), Replaced::Several(vec![0, 1]));
    assert_eq!(
        replace_once(b"x\r\nx\r\n", "x\n", "b"),
        Replaced::Several(vec![0, 3])
    );
    assert_eq!(replace_once(b"abc", "abcd", ""), Replaced::NotFound);
    assert_eq!(replace_once(b"", "a", ""), Replaced::NotFound);
    assert_eq!((line_of(b"a\nb\n", 0), line_of(b"a\nb\n", 2)), (1, 2));
}

#[test]
fn bytes_that_are_not_text_stay() {
    let Replaced::Once { content, .. } = replace_once(b"\xff\xfeold\xe6", "old", "new") else {
        panic!()
    };
    assert_eq!(content, b"\xff\xfenew\xe6");
}

proptest! {
    /// Whatever the content, one replacement changes only what it reports, and undoing it gives the old bytes.
    #[test]
    fn only_the_reported_bytes_change(
        before in "[ab\r\n汉]{0,12}", old in "[xy\n]{0,6}x", new in "[ab\n汉$]{0,8}", after in "[ab\r\n汉]{0,12}",
    ) {
        let content = format!("{before}{old}{after}");
        if let Replaced::Once { content: got, old: at, new: put } = replace_once(content.as_bytes(), &old, &new) {
            prop_assert_eq!(&got[..put.start], &content.as_bytes()[..at.start]);
            prop_assert_eq!(&got[put.end..], &content.as_bytes()[at.end..]);
            let inserted = String::from_utf8_lossy(&got[put]).replace("\r\n", "\n");
            prop_assert_eq!(inserted, new);
        }
    }

    /// In a file with one kind of line end, every kind of it is left alone.
    #[test]
    fn pure_files_stay_pure(lines in proptest::collection::vec("[abc]{0,3}", 1..6), pick in 0usize..6, new in "[d\n]{0,6}") {
        let pick = pick % lines.len();
        let mut marked = lines.clone();
        marked[pick] = "MARK".into();
        for end in ["\n", "\r\n"] {
            let content = marked.join(end) + end;
            let Replaced::Once { content: got, .. } = replace_once(content.as_bytes(), "MARK\n", &format!("{new}\n")) else {
                return Err(TestCaseError::fail("not found"));
            };
            let mut want = lines.clone();
            want[pick] = new.replace('\n', end);
            prop_assert_eq!(String::from_utf8_lossy(&got).into_owned(), want.join(end) + end);
        }
    }
}
