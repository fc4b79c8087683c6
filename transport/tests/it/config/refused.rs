//! Configurations that `ssh -G` and the own parser both refuse; ours names file, line and word.

use super::{both::Answer, table::account};

/// What is wrong, the configuration, what ours has to name.
const REFUSED: &[(&str, &str, &[&str])] = &[
    ("an unknown keyword", "User u\nPrt 1\n", &["config line 2", "prt"]),
    (
        "an unknown keyword in a block that does not match",
        "Host b\n\n  Prt 1\n",
        &["config line 3", "prt"],
    ),
    (
        "ignored too late",
        "UseKeychain yes\nIgnoreUnknown UseKeychain\n",
        &["config line 1", "usekeychain"],
    ),
    ("a keyword alone", "Host a\nPort\n", &["config line 2", "Port"]),
    (
        "a keyword with an equals sign alone",
        "Port =\n",
        &["config line 1", "Port"],
    ),
    (
        "an open quote",
        "Host a\n\nUser \"unclosed\n",
        &["config line 3", "quote"],
    ),
    (
        "an open single quote",
        "ProxyCommand it's\n",
        &["config line 1", "quote"],
    ),
    ("two values", "Port 1 2\n", &["config line 1", "port", "2"]),
    ("an empty value", "User \"\"\n", &["config line 1", "user"]),
    ("port zero", "Port 0\n", &["config line 1", "0"]),
    ("a large port", "Port 65536\n", &["config line 1", "65536"]),
    (
        "a bad flag",
        "IdentitiesOnly maybe\n",
        &["config line 1", "identitiesonly", "maybe"],
    ),
    (
        "a bad family",
        "AddressFamily inet5\n",
        &["config line 1", "inet5"],
    ),
    ("a bad time", "ConnectTimeout 1x\n", &["config line 1", "1x"]),
    (
        "a bad number",
        "NumberOfPasswordPrompts many\n",
        &["config line 1", "many"],
    ),
    ("a bad host pattern", "Host a \"\"\n", &["config line 1", "Host"]),
    (
        "match without a condition",
        "Match # x\n",
        &["config line 1", "Match"],
    ),
    (
        "match without a value",
        "Match host\n",
        &["config line 1", "host"],
    ),
    (
        "match of an unknown kind",
        "Match weather rain\n",
        &["config line 1", "weather"],
    ),
    (
        "all among others",
        "Match all host a\n",
        &["config line 1", "all"],
    ),
    (
        "an unknown token in match exec",
        "Match exec \"true %q\"\n",
        &["config line 1", "%q"],
    ),
    ("an unknown token in HostName", "HostName %q\n", &["%q"]),
    (
        "a variable that is not set",
        "IdentityAgent ${NOT_SET}\n",
        &["config line 1", "NOT_SET"],
    ),
    (
        "a variable that is not set, in known hosts",
        "UserKnownHostsFile ${NOT_SET}\n",
        &["NOT_SET"],
    ),
    (
        "an unknown token in known hosts",
        "UserKnownHostsFile /%q\n",
        &["%q"],
    ),
    (
        "a variable name that is none",
        "IdentityAgent $a-b\n",
        &["config line 1", "$a-b"],
    ),
    (
        "a variable without a value",
        "SetEnv A\n",
        &["config line 1", "A"],
    ),
    ("a name with a value", "SendEnv A=1\n", &["config line 1", "A=1"]),
    (
        "none among known hosts",
        "UserKnownHostsFile /a none\n",
        &["config line 1", "none"],
    ),
    (
        "a bad domain",
        "CanonicalDomains a..b\n",
        &["config line 1", "a..b"],
    ),
    (
        "a bad alias rule",
        "CanonicalizePermittedCNAMEs a\n",
        &["config line 1", "a"],
    ),
    (
        "a bad jump host",
        "ProxyJump a:b:c@d:0\n",
        &["config line 1", "proxyjump"],
    ),
    (
        "a mistake in an included file",
        "User u\nInclude @DIR@/broken\n",
        &["broken line 3", "0"],
    ),
    (
        "a mistake in a file included for others",
        "Host b\nInclude @DIR@/broken\n",
        &["broken line 3", "0"],
    ),
    (
        "an endless include",
        "Include @DIR@/loop\n",
        &["loop line 1", "nested"],
    ),
    (
        "a file that others may write",
        "Include @DIR@/writable\n",
        &["config line 1", "writable", "permissions"],
    ),
    (
        "a byte order mark",
        "\u{feff}Host a\n",
        &["config line 1", "host"],
    ),
    (
        "a name that is not found",
        "CanonicalizeHostname yes\nCanonicalDomains none\nCanonicalizeFallbackLocal no\n",
        &["CanonicalizeFallbackLocal"],
    ),
    ("a jump over itself", "Host a\nProxyJump a\n", &["circle"]),
];

#[tokio::test]
async fn refused_by_both() {
    let account = account();
    for (about, config, words) in REFUSED {
        account.write("config", config);
        let Answer { theirs, ours } = account.ask("a").await;
        assert!(theirs.is_err(), "{about}: OpenSSH takes it");
        let message = ours.expect_err(about).message().to_owned();
        for word in *words {
            assert!(message.contains(word), "{about}: {word:?} is not in {message:?}");
        }
    }
}
