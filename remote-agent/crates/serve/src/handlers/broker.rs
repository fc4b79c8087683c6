//! Requests to model vendors that a client with the key answers.

use std::{convert::Infallible, str::FromStr};

use axum::{
    body::Body,
    extract::{Path, Request, State},
    response::{IntoResponse as _, Response},
};
use broker::{Announcements, Refusal};
use bytes::Bytes;
use client::body::BodyReader;
use futures_util::{StreamExt as _, stream};
use protocol::{BrokerEvent, BrokerId, ErrorBody, ErrorCode, limits};
use serde::Deserialize;

use crate::{
    body::{self, Parameters},
    error::Failure,
    router::Shared,
    sse,
};

/// Who is there.
#[derive(Debug, Deserialize)]
pub(crate) struct Arrival {
    broker: BrokerId,
    /// Brokers that are known to be dead, with commas between them.
    #[serde(default)]
    instead_of: String,
}

/// Who asks.
#[derive(Debug, Deserialize)]
pub(crate) struct Caller {
    broker: BrokerId,
}

/// Who delivers what.
#[derive(Debug, Deserialize)]
pub(crate) struct Sender {
    broker: BrokerId,
    offset: u64,
}

/// `GET /v1/broker/requests?broker=ID`: what this broker shall serve, from now on.
pub(crate) async fn announce(
    State(shared): State<Shared>,
    Parameters(arrival): Parameters<Arrival>,
) -> Result<Response, Failure> {
    let dead = dead(&arrival.instead_of)?;
    let announcements = shared
        .options
        .desk
        .announce(arrival.broker, &dead)
        .map_err(|refusal| refused(&refusal))?;
    let keep_alive = shared.options.keep_alive;
    let head = stream::iter([sse::KEEP_ALIVE]);
    let rest = stream::unfold(
        announcements,
        move |mut announcements: Announcements| async move {
            let bytes = match tokio::time::timeout(keep_alive, announcements.next()).await {
                Ok(event) => encode(event),
                Err(_) => sse::KEEP_ALIVE,
            };
            Some((bytes, announcements))
        },
    );
    let body = Body::from_stream(head.chain(rest).map(Ok::<_, Infallible>));
    Ok((sse::HEADERS, body).into_response())
}

/// `GET /v1/broker/requests/{N}?broker=ID`: claims a request and gives it.
pub(crate) async fn fetch(
    State(shared): State<Shared>,
    path: Result<Path<u64>, axum::extract::rejection::PathRejection>,
    Parameters(Caller { broker }): Parameters<Caller>,
) -> Result<Response, Failure> {
    let request = shared
        .options
        .desk
        .fetch(number(path)?, broker)
        .map_err(|refusal| refused(&refusal))?;
    Ok(body::json(&request))
}

/// `PUT /v1/broker/requests/{N}/answer?broker=ID&offset=M`: takes in an answer as it comes.
pub(crate) async fn answer(
    State(shared): State<Shared>,
    path: Result<Path<u64>, axum::extract::rejection::PathRejection>,
    Parameters(Sender { broker, offset }): Parameters<Sender>,
    request: Request,
) -> Result<Response, Failure> {
    let number = number(path)?;
    let mut delivery = shared
        .options
        .desk
        .deliver(number, broker, offset)
        .map_err(|refusal| refused(&refusal))?;
    let mut incoming = BodyReader::new(request.into_body());
    loop {
        match incoming.next().await {
            Ok(Some(bytes)) => delivery.push(&bytes).await.map_err(|refusal| refused(&refusal))?,
            Ok(None) => break,
            Err(error) => {
                // What came is kept; the broker goes on from there.
                let message = format!("the answer to request {number} broke off: {error}");
                return Err(Failure::new(ErrorCode::BadRequest, message));
            }
        }
    }
    Ok(body::json(
        &delivery.receipt().map_err(|refusal| refused(&refusal))?,
    ))
}

fn number(path: Result<Path<u64>, axum::extract::rejection::PathRejection>) -> Result<u64, Failure> {
    path.map(|Path(number)| number).map_err(|error| {
        let message = format!("the path does not name a request: {error}");
        Failure::new(ErrorCode::BadRequest, message)
    })
}

fn dead(list: &str) -> Result<Vec<BrokerId>, Failure> {
    let names: Vec<&str> = list.split(',').filter(|name| !name.is_empty()).collect();
    if names.len() > limits::BROKERS {
        let message = format!(
            "{} dead brokers are named, over the limit of {}",
            names.len(),
            limits::BROKERS
        );
        return Err(Failure::new(ErrorCode::TooLarge, message));
    }
    let read = |name: &&str| {
        BrokerId::from_str(name).map_err(|error| {
            Failure::new(
                ErrorCode::BadRequest,
                format!("{name:?} is no broker's id: {error}"),
            )
        })
    };
    names.iter().map(read).collect()
}

fn encode(event: BrokerEvent) -> Bytes {
    // Wire types always encode; should one not, the broker is told nothing rather than nonsense.
    match serde_json::to_string(&event) {
        Ok(json) => format!("event: broker\ndata: {json}\n\n").into(),
        Err(_) => sse::KEEP_ALIVE,
    }
}

fn refused(refusal: &Refusal) -> Failure {
    let code = match refusal {
        Refusal::Over(_) => ErrorCode::NotFound,
        Refusal::Taken(_) | Refusal::NotFetched(_) | Refusal::Gap { .. } | Refusal::Replaced(_) => {
            ErrorCode::Conflict
        }
        Refusal::Nonsense { .. } => ErrorCode::BadRequest,
        Refusal::TooManyBrokers(_) => ErrorCode::Busy,
    };
    ErrorBody {
        retryable: code == ErrorCode::Busy,
        ..ErrorBody::new(code, refusal.to_string())
    }
    .into()
}
