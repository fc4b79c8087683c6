//! A table of configurations, each given to `ssh -G` and to the own parser: every field that counts is the same.

use std::os::unix::fs::PermissionsExt;

use super::both::{Account, Answer};

/// Files that rows include; `@DIR@` is their folder.
const FILES: [(&str, &str); 9] = [
    ("10-first.conf", "Match user nobody\nCompression yes\n"),
    (
        "20-second.conf",
        "Host included\n HostName 127.0.0.1\n Port 4242\n",
    ),
    ("plain", "Port 77\nUser plain\n"),
    (
        "nested",
        "Host deep\nInclude @DIR@/plain\nHost other\nUser other\n",
    ),
    ("leaves-host", "Host nobody\nPort 9\n"),
    ("broken", "\nHost x\nPort 0\n"),
    ("loop", "Include @DIR@/loop\n"),
    ("crlf", "Host windows\r\n  Port 33\r\n\r\n  User w # x\r\n"),
    ("final", "Match final\nPort 66\n"),
];

/// What it is about, the configuration, the hosts that are asked for.
type Row = (&'static str, &'static str, &'static [&'static str]);

const BLOCKS: &[Row] = &[
    ("nothing", "", &["h", "me@h", "me@h:2200", "::1", "[::1]:22"]),
    (
        "a host",
        "Host a\nPort 1\nUser u\nHostName real\n",
        &["a", "b", "me@a:9", "A"],
    ),
    (
        "patterns",
        "Host a? b* *.c\nPort 1\n",
        &["ax", "a", "bcd", "x.c", "c"],
    ),
    (
        "negated",
        "Host * !a\nPort 1\nHost !b *\nUser u\nHost !c\nUser v\n",
        &["a", "b", "c", "d"],
    ),
    ("host * first", "Host *\nPort 1\nHost a\nPort 2\n", &["a"]),
    (
        "host * last",
        "Host a\nPort 2\nHost *\nPort 1\nUser u\n",
        &["a", "b"],
    ),
    ("commas are no separators", "Host a,b\nPort 1\n", &["a", "b"]),
    ("keywords in any case", "hOsT a\nPORT 1\nuser u\n", &["a"]),
    ("equals", "Host=a\nPort = 1\nUser =u\nHostName= real\n", &["a"]),
    (
        "quoted values",
        "Host \"a\" 'b'\nUser \"u\"\nIdentityFile \"/x y/z\"\n",
        &["a", "b"],
    ),
    ("quoted keywords", "\"Port\" 1\n\"Host\" a\n\"User\"u\n", &["a"]),
    (
        "escapes",
        "IdentityFile /a\\ b\nIdentityFile \"/a\\\"b\"\nIdentityFile /c\\d\\\\e\n",
        &["a"],
    ),
    (
        "a quoted keyword that never ends counts for nothing",
        "\"Port 1\n\"User u\nUser v\n",
        &["a"],
    ),
    (
        "comments",
        "# Port 1\n  # Port 2\nPort 3 # Port 4\nUser a#b\n",
        &["a"],
    ),
    ("blanks", "\t Host\ta \t b \n\t\tPort\t 1\t\n\n   \n", &["a", "b"]),
    (
        "carriage returns",
        "Include @DIR@/crlf\r\nHost windows\r\nHostName w\r\n",
        &["windows", "x"],
    ),
    ("no end of line", "Port 3", &["a"]),
];

const MATCHES: &[Row] = &[
    ("match all", "Match all\nPort 1\n", &["a"]),
    ("match !all", "Match !all\nPort 1\n", &["a"]),
    (
        "match host",
        "Match host a,b*,!bad\nPort 1\n",
        &["a", "bcd", "bad", "c", "A"],
    ),
    (
        "match host after HostName",
        "Host a\nHostName b\nMatch host b\nPort 1\nMatch host a\nPort 2\n",
        &["a", "b"],
    ),
    (
        "match originalhost",
        "Host a\nHostName b\nMatch originalhost a\nPort 1\nMatch originalhost b\nPort 2\n",
        &["a", "b"],
    ),
    ("match !host", "Match !host a\nPort 1\n", &["a", "b"]),
    (
        "match user",
        "Match user u,v*\nPort 1\n",
        &["u@a", "vx@a", "w@a", "a"],
    ),
    (
        "match user of the file",
        "User u\nMatch user u\nPort 1\n",
        &["a", "w@a"],
    ),
    (
        "match localuser",
        "Match localuser @ME@\nPort 1\nMatch localuser nobody-else\nUser u\n",
        &["a"],
    ),
    (
        "several conditions",
        "Match host a user u\nPort 1\nMatch host=a !user=u\nPort 2\n",
        &["u@a", "a", "u@b"],
    ),
    (
        "match exec",
        "Match exec true\nPort 1\nMatch exec false\nUser no\nMatch !exec \"exit 3\"\nHostName x\n",
        &["a"],
    ),
    (
        "tokens of match exec",
        "Host a\nHostName b\nMatch exec \"test %h.%n.%p.%r.%u.%% = b.a.22.u.@ME@.%%\"\nPort 1\n",
        &["u@a", "v@a"],
    ),
    (
        "more tokens of match exec",
        "Match exec \"test %d.%i.%l.%L.%k = @HOME@.$(id -u).$(hostname).$(hostname -s).a\"\nPort 1\n",
        &["a"],
    ),
    (
        "exec after a failed condition does not run",
        "Match host b exec \"touch @DIR@/ran\"\nPort 1\nMatch exec \"test -e @DIR@/ran\"\nUser no\n",
        &["a"],
    ),
    (
        "match final",
        "Host a\nPort 1\nMatch final\nUser final\nPort 2\n",
        &["a", "b"],
    ),
    (
        "match final after other conditions",
        "Host a\nHostName b\nMatch host b final\nPort 1\nMatch final all\nUser u\n",
        &["a", "c"],
    ),
    (
        "match !final",
        "Match !final\nPort 1\nMatch final\nUser u\n",
        &["a"],
    ),
    (
        "the second pass compares names",
        "Host a\nHostName b\nHost b\nUser late\nMatch final\nPort 5\n",
        &["a", "b"],
    ),
    ("match canonical", "Match canonical\nPort 1\n", &["a"]),
    (
        "match canonical of an address",
        "CanonicalizeHostname yes\nMatch canonical host 127.0.0.1\nPort 1\n",
        &["127.1", "a"],
    ),
    (
        "final in an included file",
        "Host x\nInclude @DIR@/final\nHost a\nUser u\n",
        &["a", "x"],
    ),
    (
        "a comment after conditions",
        "Match host a # final\nPort 1\n",
        &["a"],
    ),
];

const INCLUDES: &[Row] = &[
    // RA-01: the first file ends in a block that does not match.
    (
        "include with a pattern",
        "Include @DIR@/*.conf\nUser after\n",
        &["included", "a"],
    ),
    ("include with brackets", "Include @DIR@/[1-2]0-*\n", &["included"]),
    (
        "include of several",
        "Include @DIR@/leaves-host @DIR@/plain\n",
        &["a"],
    ),
    (
        "include in a host block",
        "Host a\nInclude @DIR@/plain\nHost b\nUser b\n",
        &["a", "b"],
    ),
    (
        "include in a match block",
        "Match host a\nInclude @DIR@/20-second.conf @DIR@/plain\n",
        &["a", "included"],
    ),
    (
        "nested includes",
        "Include @DIR@/nested\nHostName x\n",
        &["deep", "other", "a"],
    ),
    (
        "a missing include",
        "Include @DIR@/missing @DIR@/none*\nPort 1\n",
        &["a"],
    ),
    ("an included folder", "Include @DIR@\nPort 1\n", &["a"]),
    (
        "the block goes on after an include",
        "Host a\nInclude @DIR@/leaves-host\nPort 1\n",
        &["a", "b"],
    ),
];

const VALUES: &[Row] = &[
    (
        "tokens of HostName",
        "Host a\nHostName %h.example.com\nHost b\nHostName %%h\n",
        &["a", "b"],
    ),
    (
        "names in capitals",
        "Host A*\nHostName Real.Example\nHost b\nHostName %h\n",
        &["Ab", "b", "B"],
    ),
    (
        "addresses",
        "Host x\nHostName 127.1\nHost y\nHostName ::0001\n",
        &["x", "y", "127.0.1", "0x7f.1", "1.2.3.4.5"],
    ),
    (
        "an address of the other family",
        "AddressFamily inet\n",
        &["::0001", "127.1"],
    ),
    (
        "identity files",
        "IdentityFile ~/.ssh/%r-%h-%p\nIdentityFile %d/x\nIdentityFile /y/%u-%n-%i\nIdentityFile ${HOME}/z\nIdentityFile /a%%b\n",
        &["u@a", "a:99"],
    ),
    (
        "identity files twice",
        "IdentityFile /a\nHost a\nIdentityFile /b\nIdentityFile /a\nMatch final\nIdentityFile /c\n",
        &["a", "b"],
    ),
    ("no identity file", "IdentityFile none\n", &["a"]),
    (
        "none among identity files",
        "IdentityFile /a\nIdentityFile none\n",
        &["a"],
    ),
    (
        "identities only",
        "IdentitiesOnly yes\nIdentityFile2 /a\n",
        &["a"],
    ),
    (
        "certificates",
        "CertificateFile ~/c-%h\nCertificateFile /d\nCertificateFile /d\n",
        &["a"],
    ),
    (
        "agents",
        "Host a\nIdentityAgent none\nHost b\nIdentityAgent SSH_AUTH_SOCK\nHost c\nIdentityAgent ~/agent-%h\nHost d\nIdentityAgent $MY_AGENT\nHost e\nIdentityAgent ${MY_AGENT}/x\nHost f\nIdentityAgent /a%%b\nHost g\nIdentityAgent $NOT_SET\n",
        &["a", "b", "c", "d", "e", "f", "g", "h"],
    ),
    (
        "known hosts",
        "UserKnownHostsFile ~/kh-%h /b \"/with blank/kh\"\nGlobalKnownHostsFile /g1 /g2\n",
        &["a"],
    ),
    (
        "known hosts with percent signs",
        "UserKnownHostsFile /a%%h ${HOME}/b\n",
        &["a"],
    ),
    (
        "no known hosts",
        "Host a\nUserKnownHostsFile none\nHost b\nGlobalKnownHostsFile none\n",
        &["a", "b"],
    ),
    (
        "the usual known hosts",
        "UserKnownHostsFile ~/.ssh/known_hosts\n",
        &["a"],
    ),
    ("host key alias", "HostKeyAlias Alias\nIdentityFile /%k\n", &["a"]),
    (
        "strict checking",
        "Host a\nStrictHostKeyChecking yes\nHost b\nStrictHostKeyChecking accept-new\nHost c\nStrictHostKeyChecking off\nHost d\nStrictHostKeyChecking ASK\nHost e\nStrictHostKeyChecking true\n",
        &["a", "b", "c", "d", "e", "f"],
    ),
    (
        "revoked keys",
        "Host a\nRevokedHostKeys /r\nHost b\nRevokedHostKeys none\nHost c\nRevokedHostKeys ~/r\n",
        &["a", "b", "c"],
    ),
    (
        "announced keys",
        "Host a\nUpdateHostKeys no\nHost b\nUpdateHostKeys ask\nHost c\nVerifyHostKeyDNS yes\nHost d\nUpdateHostKeys yes\nUserKnownHostsFile /x\n",
        &["a", "b", "c", "d", "e"],
    ),
    (
        "timeouts",
        "Host a\nConnectTimeout 7\nHost b\nConnectTimeout 1m30s\nHost c\nConnectTimeout none\nHost d\nConnectTimeout 0\nHost e\nConnectTimeout 1W2d3H4\n",
        &["a", "b", "c", "d", "e", "f"],
    ),
    (
        "address families",
        "Host a\nAddressFamily inet6\nHost b\nAddressFamily INET\nHost c\nAddressFamily any\n",
        &["a", "b", "c", "d"],
    ),
    (
        "bind address",
        "BindAddress 127.0.0.2\nBindAddress 127.0.0.3\n",
        &["a"],
    ),
    ("bind interface", "BindInterface eth7\n", &["a"]),
    (
        "methods",
        "PreferredAuthentications password,publickey,hostbased\nNumberOfPasswordPrompts 1\n",
        &["a"],
    ),
    (
        "switches of methods",
        "Host a\nPasswordAuthentication no\nHost b\nKbdInteractiveAuthentication no\nHost c\nPubkeyAuthentication no\nHost d\nPubkeyAuthentication host-bound\nHost e\nChallengeResponseAuthentication no\n",
        &["a", "b", "c", "d", "e"],
    ),
    ("batch mode", "BatchMode yes\n", &["a"]),
    (
        "environment",
        "SetEnv A=1 B=\"two words\" A=3\nSetEnv C=4\nSendEnv MY_* OTHER\nSendEnv -MY_SECRET\n",
        &["a"],
    ),
    ("sent and set", "SetEnv MY_AGENT=mine\nSendEnv MY_*\n", &["a"]),
    ("ports by name", "Port ssh\n", &["a", "a:1"]),
    (
        "what does not apply",
        "LocalForward 1 a:2\nRemoteCommand x\nRequestTTY yes\nControlPath /c\nControlMaster auto\nCheckHostIP yes\nForwardAgent yes\nLogLevel QUIET\nCiphers aes128-ctr\nCompression no\nProtocol 2\nRhostsAuthentication no\n",
        &["a"],
    ),
    (
        "unknown keywords that are ignored",
        "IgnoreUnknown UseKeychain,Foo*\nUseKeychain yes\nfoobar \"x\"\nPort 1\n",
        &["a"],
    ),
    ("long lines", "User @LONG@\nPort 1\n", &["a"]),
];

const PROXIES: &[Row] = &[
    (
        "a jump host",
        "Host a\nProxyJump hop\nHost hop\nUser h\nPort 2\nIdentityFile /hop\n",
        &["a", "u@a:1"],
    ),
    (
        "jump hosts in a row",
        "Host a\nProxyJump one,me@two:2022,ssh://three:3\nHost two\nProxyJump never\nHost one\nHostName first\n",
        &["a"],
    ),
    (
        "a jump host with its own",
        "Host a\nProxyJump b\nHost b\nProxyJump c\nHost c\nUser c\n",
        &["a", "b", "c"],
    ),
    (
        "addresses as jump hosts",
        "Host a\nProxyJump me@[::1]:2,10.0.0.1\n",
        &["a"],
    ),
    (
        "no jump host",
        "Host a\nProxyJump none\nHost *\nProxyJump hop\nHost hop\n",
        &["a"],
    ),
    (
        "no jump host by pattern",
        "Host hop\nProxyJump none\nHost *\nProxyJump hop\n",
        &["a", "hop"],
    ),
    (
        "a jump host before a command",
        "Host a\nProxyJump hop\nProxyCommand x\n",
        &["a"],
    ),
    (
        "a command before a jump host",
        "Host a\nProxyCommand x\nProxyJump hop\n",
        &["a"],
    ),
    (
        "no jump host, then a command",
        "Host a\nProxyJump none\nProxyCommand x\n",
        &["a"],
    ),
    (
        "no command, then a jump host",
        "Host a\nProxyCommand none\nProxyJump hop\n",
        &["a"],
    ),
    (
        "a jump host with a comment",
        "Host a\nProxyJump one # two\n",
        &["a"],
    ),
    (
        "a command",
        "Host a\nHostName b\nProxyCommand nc -x \"a b\" '%%' %h %n %p %r %k # no comment\n",
        &["a", "u@a:1"],
    ),
    ("a command with equals", "ProxyCommand=exec nc %h %p\n", &["a"]),
    (
        "no command",
        "Host a\nProxyCommand none\nHost *\nProxyCommand x\n",
        &["a", "b"],
    ),
    (
        "canonical names behind a proxy",
        "CanonicalizeHostname yes\nCanonicalDomains invalid\nProxyCommand x\n",
        &["a"],
    ),
    (
        "a name that is no alias of another",
        "CanonicalizeHostname yes\nCanonicalizePermittedCNAMEs *:*\nHost localhost\nPort 1\n",
        &["localhost", "LocalHost"],
    ),
    (
        "canonical names that are no names",
        "CanonicalizeHostname always\nCanonicalizeMaxDots 0\nCanonicalDomains none\nHost 127.0.0.1\nPort 1\n",
        &["127.1", "::01", "a.b"],
    ),
];

/// Gives a folder with the files that rows include.
pub(super) fn account() -> Account {
    let account = Account::new();
    for (name, text) in FILES {
        account.write(name, text);
    }
    account.write("writable", "Port 1\n");
    let writable = account.path("writable");
    std::fs::set_permissions(writable, std::fs::Permissions::from_mode(0o666)).unwrap();
    account
}

async fn agree(rows: &[Row]) {
    let account = account();
    for (about, config, targets) in rows {
        account.write("config", config);
        for target in *targets {
            let Answer { theirs, ours } = account.ask(target).await;
            let (theirs, ours) = match (theirs, ours) {
                (Ok(theirs), Ok(ours)) => (theirs, ours),
                other => panic!("{about}, {target}: {other:?}\n{config}"),
            };
            assert_eq!(ours, theirs, "{about}, {target}\n{config}");
        }
    }
}

#[tokio::test]
async fn blocks_and_lines() {
    agree(BLOCKS).await;
}

#[tokio::test]
async fn conditions() {
    agree(MATCHES).await;
}

#[tokio::test]
async fn includes() {
    agree(INCLUDES).await;
}

#[tokio::test]
async fn values() {
    agree(VALUES).await;
}

#[tokio::test]
async fn proxies() {
    agree(PROXIES).await;
}

#[test]
fn the_table_is_large_enough() {
    let rows = [BLOCKS, MATCHES, INCLUDES, VALUES, PROXIES].map(<[Row]>::len);
    assert!(rows.iter().sum::<usize>() >= 60, "{rows:?}");
}
