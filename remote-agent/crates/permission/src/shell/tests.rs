use super::*;

fn commands(text: &str) -> Vec<String> {
    parse(text)
        .unwrap_or_else(|problem| panic!("{text}: {problem}"))
        .segments
        .iter()
        .map(Segment::text)
        .collect()
}

#[test]
fn every_joiner_and_group_is_taken_apart() {
    for text in [
        "a 1 && b 2",
        "a 1||b 2",
        "a 1;b 2",
        "a 1|b 2",
        "a 1 |& b 2",
        "a 1&b 2",
        "a 1\nb 2",
        "a 1 &&\n\n b 2 # c 3",
        "{ a 1; b 2; }",
        "(a 1; b 2)",
        "( (a 1); b 2 )",
        "((a 1); b 2)",
        "! a 1 && ! b 2",
        "time -p a 1; b 2",
        "if a 1; then b 2; fi",
        "if a 1\nthen\n b 2\nfi",
        "while a 1; do b 2; done",
        "until a 1; do b 2; done > /dev/null",
        "for x in 1 2 $y; do a 1; b 2; done",
        "for x\ndo a 1; b 2; done",
        "for ((i=0; i<3; i++)); do a 1; b 2; done",
        "for x in 1; { a 1; b 2; }",
        "select x in y; do a 1; b 2; done",
        "case $x in p) a 1;; (q|r) b 2 ;; esac",
        "case x in\n p) a 1 ;&\n *) b 2\nesac",
        "f() { a 1; }; b 2",
        "function f { a 1; }\nb 2",
        "function f () (a 1; b 2)",
        "X=1 Y+=2 Z[1]=3 a 1; b 2 >out 2>&1 <in",
        "a 1 2>/dev/null >&2; &>all b 2",
        "a 1 {fd}>x; b 2 3<y",
        "a   1;\tb\t2",
        "a \\\n 1; b 2",
        "arr=(x 'y z'\n w) a 1; b 2",
    ] {
        assert_eq!(commands(text), ["a 1", "b 2"], "{text}");
    }
}

#[test]
fn substitutions_are_commands_of_their_own() {
    for text in [
        "a $(b 2)",
        "a \"$(b 2)\"",
        "a `b 2`",
        "a \"`b 2`\"",
        "a <(b 2)",
        "a >(b 2)",
        "a x<(b 2)y",
        "a ${x:-$(b 2)}",
        "a \"${x:-`b 2`}\"",
        "a \"${x:-'$(b 2)'}\"",
        "a $((1 + $(b 2)))",
        "a $[ $(b 2) ]",
        "a <<E\nx $(b 2)\nE",
        "a <<-E\n\tx `b 2`\n\tE\n",
        "a <<<$(b 2)",
        "a > $(b 2)",
        "X=$(b 2) a",
        "a $'x' $\"$(b 2)\"",
        "a $( (b 2) )",
        "a $((b 2) )",
        "[[ a -nt $(b 2) && x < y ]]",
        "for x in $(b 2); do a; done",
        "case $(b 2) in *) a;; esac",
        "a=( $(b 2) ) a",
        "a ${arr[$(b 2)]}",
    ] {
        let found = commands(text);
        assert!(found.contains(&"b 2".to_owned()), "{text}: {found:?}");
    }
    // An escaped backtick starts the next level.
    assert!(commands("a `b \\`c 3\\``").contains(&"c 3".to_owned()));
}

#[test]
fn quoted_text_is_literal() {
    for text in [
        "git log --format='$(x)'",
        "git log --format=\\$\\(x\\)",
        "git log \"--format=\\$(x)\"",
        "git log --format=$'$(x) \\' `x`'",
        "git log 'a;b' \"c&&d\" e\\;f",
        "git log <<'E'\n$(x)\nE",
        "git log <<\\E\n`x`; rm\nE",
        "git log #; rm x",
        "git log a#b",
    ] {
        assert_eq!(commands(text).len(), 1, "{text}: {:?}", commands(text));
    }
}

#[test]
fn here_documents_end_where_the_shell_ends_them() {
    assert_eq!(commands("cat <<E\nE\nrm x"), ["cat", "rm x"]);
    // A joined line is no delimiter; a quoted document joins nothing.
    assert_eq!(commands("cat <<E\nfoo\\\nE\nrm x\nE\nrm y"), ["cat", "rm y"]);
    assert_eq!(commands("cat <<'E'\nfoo\\\nE\nrm x"), ["cat", "rm x"]);
    assert_eq!(commands("cat <<A <<B\n1\nA\n2\nB\nrm x"), ["cat", "rm x"]);
    assert_eq!(commands("cat <<E\nnever closed"), ["cat"]);
}

#[test]
fn quotes_do_not_hide_a_command_name() {
    for text in [
        "\"rm\" -rf x",
        "r\\m -rf x",
        "'r'm -rf x",
        "r\\\nm -rf x",
        "$'\\x72m' -rf x",
        "r''m -rf x",
    ] {
        let script = parse(text).unwrap();
        assert_eq!(script.segments[0].plain_text(), "rm -rf x", "{text}");
    }
    assert_eq!(commands("F\\\nOO=1 git push"), ["git push"]);
}

#[test]
fn text_that_no_shell_would_run_is_unparsable() {
    for text in [
        "echo 'a",
        "echo \"a",
        "echo `a",
        "echo $(a",
        "echo ${a",
        "(a",
        "a)",
        "{ a;",
        "if a; then b",
        "if a; fi",
        "done",
        "while a; b; done",
        "case x in a",
        "a >",
        "a > ; b",
        "a <<",
        "echo $\\\n(b)",
        "a ;; b",
        "a (b)",
        "${ a; }",
        "a\0b",
        "[[ a",
        "((1+",
        "a=(b",
        "coproc N { a; }",
    ] {
        assert!(parse(text).is_err(), "{text:?}: {:?}", parse(text));
    }
}

#[test]
fn nesting_and_size_are_bounded() {
    assert!(parse(&"(".repeat(100_000)).is_err());
    assert!(parse(&"$((".repeat(5_000)).is_err());
    assert!(parse(&"((".repeat(5_000)).is_err());
    assert!(parse(&"${x:-".repeat(5_000)).is_err());
    assert!(parse(&"\"$(".repeat(5_000)).is_err());
    assert!(parse(&"a".repeat(MAX_COMMAND_BYTES + 1)).is_err());
    assert_eq!(commands(&"a;".repeat(10_000)).len(), 10_000);
}

#[test]
fn commands_inside_commands_are_found() {
    for text in [
        "/bin/rm -rf x",
        "sudo rm -rf x",
        "sudo -u root -- rm -rf x",
        "env A=1 rm -rf x",
        "env -i sudo nice -n 5 /usr/bin/rm -rf x",
        "timeout 5 rm -rf x",
        "xargs -n1 rm -rf x",
        "sh -c 'rm -rf x'",
        "bash -lc \"cd y && rm -rf x\"",
        "bash --norc -c 'rm -rf x' name",
        "sudo bash -c 'rm -rf x'",
        "bash -c \"bash -c 'rm -rf x'\"",
        "eval rm -rf x",
        "eval 'rm -rf' x",
        "command eval eval rm -rf x",
        "trap 'rm -rf x' EXIT",
        "find . -name y -exec rm -rf x \\;",
        "find . -exec sudo rm -rf x {} +",
        "busybox rm -rf x",
        "su -c 'rm -rf x' user",
    ] {
        let segment = &parse(text).unwrap().segments[0];
        let found = candidates(segment).unwrap();
        let wanted = |c: &unwrap::Candidate| c.plain_text().starts_with("rm -rf x");
        assert!(found.iter().any(wanted), "{text}: {found:?}");
    }
}

#[test]
fn seeing_through_wrappers_ends_in_time() {
    for text in [
        "sudo ".repeat(2_000) + "x",
        "su ".repeat(500) + "-c x",
        "find . ".to_owned() + &"-exec find ".repeat(500),
        "eval ".repeat(500) + "x",
        "bash -c x ".repeat(500),
        format!(
            "sudo {} -c '{}'",
            "bash ".repeat(100),
            "sudo bash -c a ".repeat(100)
        ),
    ] {
        for segment in parse(&text).unwrap().segments {
            // Either answer is fine; it only has to come.
            drop(candidates(&segment));
        }
    }
}

#[test]
fn reading_commands() {
    let accepted = r"
        ls -la src § cat a b | head -5 § git status && git diff --stat; pwd § git log --oneline -5 § git branch -a
        git show HEAD:src/x.rs § find . -name '*.rs' -type f § rg -n foo src § grep -rn 'a;b' . § echo $HOME
        date +%s § date -u § date -Iseconds -d 'last week' § sort -k2 a § wc -l *.rs § ls 2>/dev/null § ls 2>&1 § node -v
        true § diff a b § echo 'x > y' § stat a || true § which git
    ";
    for text in accepted
        .split(['§', '\n'])
        .map(str::trim)
        .filter(|text| !text.is_empty())
    {
        assert!(is_read_only(text), "{text}");
    }
    assert!(is_read_only("which git\nwhoami"));
}

#[test]
fn commands_that_may_do_more_than_read() {
    let rejected = r"
        echo a > b § cat < a § echo $(ls) § diff <(ls) a § A=1 ls § A=1 § sed -n 1p a § awk 1 a § ls | tee b § ls | xargs rm
        env § python -c 1 § node -e 1 § node -v -e 1 § curl x § jq . § make § go test ./... § npm test § cargo check § mkdir a
        touch a § find . -delete § find . -exec rm {} + § find . -fprintf a b § git push § git fetch § git commit
        git branch new § git branch -D a § gh pr list § git -C x status § git diff --output=a § git diff --outp a
        git log --ext-diff § sort -o a b § sort -no a b § sort --out=a § date -s x § date 010100002030 § rg --pre x y
        cat $F § ls & rm a § (ls) § if ls; then ls; fi § /bin/ls § ./ls § $(echo ls) § l* a § ls; rm a § file -C § ls 'a
    ";
    for text in rejected
        .split(['§', '\n'])
        .map(str::trim)
        .filter(|text| !text.is_empty())
    {
        assert!(!is_read_only(text), "{text}");
    }
    assert!(!is_read_only(""));
    assert!(!is_read_only("cat <<E\nE"));
}

#[test]
fn commands_as_models_write_them_can_be_read() {
    for text in [
        "git commit -m \"$(cat <<'EOF'\nit's (done): \"x\" `y` $(z)\n\nCo: A <a@b>\nEOF\n)\"",
        "python3 - <<'EOF'\nprint('it\\'s', \"(\")\nif x: pass\nEOF",
        "cat > src/x.rs <<'EOF'\nfn main() { println!(\"{}\", 'a'); }\nEOF\ncargo check 2>&1 | tail -20",
        "[[ \"$x\" =~ ^a(b|c)+$ ]] && echo ok",
        "if [ -f a ] && ! grep -q \"it's\" a; then echo $?; else exit 1; fi",
        "for f in $(git ls-files '*.rs'); do wc -l \"$f\"; done | sort -n",
        "awk -F: '{ print $1; if ($2 > 3) { n++ } } END { print n }' /etc/passwd",
        "find . -type f \\( -name '*.c' -o -name '*.h' \\) -exec grep -l 'foo(' {} \\;",
        "echo $((1 << 3)) ${x//a/b} ${#y} ${z:-\"a b\"} \"${arr[@]}\" a{1..3} ~/x",
        "x=$(cat <<EOF\n$HOME\nEOF\n); echo \"$x\"",
        "diff <(sort a) <(sort b) || true",
        "while IFS= read -r line; do echo \"$line\"; done < file",
        "(cd sub && make -j2) & wait; kill %1 2>/dev/null",
        "case \"$1\" in\n  start|stop) run \"$1\" ;;\n  -*) echo 'usage: x (y)' >&2; exit 2 ;;\n  *) ;;\nesac",
        "set -euo pipefail\ncommand -v rg >/dev/null || { echo 'no rg'; exit 1; }",
        "sed -i 's/(a)/[b]/; s|x|y|' f && perl -pe 's/\\$(\\w+)/x/' f",
        "curl -s 'http://x/?a=1&b=2' | jq '.[] | select(.x > 1) | \"\\(.y)\"'",
        "function f() { local a=(1 2); for ((i = 0; i < ${#a[@]}; i++)); do echo \"${a[$i]}\"; done; }; f",
        "((i++)); ((x = a < b ? 1 : 2)); let y=1+2",
        "printf '%s\\n' \"a\\\"b\" $'c\\'d' 'e'\\''f'",
        "timeout 5 bash -c 'until curl -sf localhost:80; do sleep 1; done'",
        "VAR=1 OTHER=\"a b\" cmd --flag=\"$VAR\" -- 'x' # done",
    ] {
        let script = parse(text).unwrap_or_else(|problem| panic!("{text}: {problem}"));
        for segment in &script.segments {
            assert!(candidates(segment).is_ok(), "{text}");
        }
    }
}
