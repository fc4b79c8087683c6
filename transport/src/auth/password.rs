//! Password authentication: one typed password is one attempt.

use crate::{
    Error, SecretKind, SecretQuestion,
    auth::{Context, Tried},
};

/// Says whether a password of this account is remembered.
pub(super) fn is_known(cx: &Context<'_>) -> bool {
    let endpoint = &cx.resolved.endpoint;
    cx.secrets
        .has_password(&endpoint.user, &endpoint.host_name, endpoint.port)
}

pub(super) async fn try_once(cx: &mut Context<'_>, failed_before: u32) -> Result<Tried, Error> {
    let endpoint = &cx.resolved.endpoint;
    let remembered = cx
        .secrets
        .take_password(&endpoint.user, &endpoint.host_name, endpoint.port);
    let password = match remembered {
        Some(password) => password,
        None => {
            let question = SecretQuestion {
                kind: SecretKind::Password,
                host: cx.resolved.alias.clone(),
                label: format!("Password of {} on {}", endpoint.user, endpoint.host_name),
                instructions: String::new(),
                echo: false,
                round: failed_before + 1,
            };
            match cx.asker.secret(&question).await {
                Some(password) => password,
                None => return Ok(Tried::NeedsPerson("the password".into())),
            }
        }
    };
    let (user, asker) = (endpoint.user.clone(), cx.asker.clone());
    let result = asker
        .answered(cx.handle.authenticate_password(user, password.expose()))
        .await;
    cx.offered.push("a password".into());
    match result {
        Ok(Ok(result)) => {
            let tried = Tried::from(result);
            if matches!(tried, Tried::Success | Tried::Partial(_)) {
                cx.secrets
                    .remember_password(&endpoint.user, &endpoint.host_name, endpoint.port, password);
            }
            Ok(tried)
        }
        Ok(Err(_)) => Err(cx.lost().await),
        Err(_) => Err(cx.silent()),
    }
}
