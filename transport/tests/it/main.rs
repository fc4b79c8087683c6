//! Tests of the SSH layer through its public face, against a real `sshd` and the embedded server.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

mod announced;
mod certificates;
mod config;
mod corpus;
mod deadlines;
mod exec;
mod host_keys;
mod liveness;
mod login;
mod login_agent;
mod login_certificates;
mod login_files;
mod login_pam;
mod login_secrets;
mod matcher;
mod openssh;
mod proxies;
mod streams;
mod support;
mod survey;
mod terminal;
