//! The stream of frames in which an answer of a vendor comes.

use proptest::prelude::*;
use protocol::{
    broker::{AnswerDecoder, AnswerEnd, AnswerError, AnswerErrorKind, AnswerFault, AnswerFrame, AnswerHead},
    limits,
};

fn head(status: u16) -> AnswerFrame {
    AnswerFrame::Head(AnswerHead {
        status,
        headers: vec![("content-type".into(), "text/event-stream".into())],
    })
}

fn end() -> AnswerFrame {
    AnswerFrame::End(AnswerEnd::default())
}

fn refusal() -> AnswerFrame {
    AnswerFrame::End(AnswerEnd {
        error: Some(AnswerError {
            kind: AnswerErrorKind::Budget,
            message: "used up".into(),
            hint: None,
        }),
    })
}

/// Decodes pieces; gives the frames with the body in one piece, and how it went.
fn decode<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<AnswerFrame>, Result<bool, AnswerFault>) {
    let mut decoder = AnswerDecoder::default();
    let (mut raw, mut fault) = (Vec::new(), None);
    for piece in pieces {
        if let Err(error) = decoder.push(piece, &mut raw) {
            fault = Some(error);
            break;
        }
    }
    let mut frames: Vec<AnswerFrame> = Vec::new();
    for frame in raw {
        match (frames.last_mut(), frame) {
            (Some(AnswerFrame::Data(whole)), AnswerFrame::Data(more)) => whole.extend(more),
            (_, frame) => frames.push(frame),
        }
    }
    (frames, fault.map_or(Ok(decoder.is_over()), Err))
}

fn fault(bytes: &[u8]) -> AnswerFault {
    decode([bytes]).1.unwrap_err()
}

proptest! {
    #[test]
    fn an_answer_cut_anywhere_is_the_same_answer(
        body in proptest::collection::vec(any::<u8>(), 1..5_000),
        cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..12),
        chunk in 1_usize..1_000,
    ) {
        let mut bytes = head(200).encode();
        for piece in body.chunks(chunk) {
            bytes.extend(AnswerFrame::Data(piece.to_vec()).encode());
        }
        bytes.extend(end().encode());
        let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len())).collect();
        at.extend([0, bytes.len()]);
        at.sort_unstable();
        let pieces = at.windows(2).map(|pair| &bytes[pair[0]..pair[1]]);
        let (frames, over) = decode(pieces);
        prop_assert_eq!(frames, vec![head(200), AnswerFrame::Data(body), end()]);
        prop_assert_eq!(over, Ok(true));
    }

    #[test]
    fn no_bytes_whatever_bring_more_than_they_are(bytes in proptest::collection::vec(any::<u8>(), 0..2_000)) {
        let (frames, _) = decode([bytes.as_slice()]);
        let data: usize = frames.iter().map(|frame| match frame {
            AnswerFrame::Data(data) => data.len(),
            _ => 0,
        }).sum();
        prop_assert!(data <= bytes.len());
    }
}

#[test]
fn a_long_body_becomes_frames_within_the_limit() {
    let body = vec![7; limits::BROKER_FRAME + 3];
    let mut bytes = head(200).encode();
    let data = AnswerFrame::Data(body.clone()).encode();
    assert_eq!(data.len(), body.len() + 2 * 5);
    bytes.extend(data);
    assert_eq!(
        decode([bytes.as_slice()]),
        (vec![head(200), AnswerFrame::Data(body)], Ok(false))
    );
}

#[test]
fn a_refusal_needs_no_head() {
    assert_eq!(
        decode([refusal().encode().as_slice()]),
        (vec![refusal()], Ok(true))
    );
}

#[test]
fn what_makes_no_sense_is_named() {
    let data = AnswerFrame::Data(b"x".to_vec()).encode();
    assert!(matches!(fault(&data), AnswerFault::Order(_)));
    assert!(matches!(fault(&end().encode()), AnswerFault::Order(_)));
    assert!(matches!(
        fault(&[head(200).encode(), head(200).encode()].concat()),
        AnswerFault::Order(_)
    ));
    assert!(matches!(
        fault(&[head(200).encode(), end().encode(), vec![2]].concat()),
        AnswerFault::Order(_)
    ));
    assert_eq!(fault(&[9, 0, 0, 0, 0]), AnswerFault::Kind(9));
    assert!(matches!(
        fault(&[1, 0xff, 0, 0, 0]),
        AnswerFault::TooLong { kind: 1, .. }
    ));
    assert!(matches!(
        fault(&[1, 0, 0, 0, 2, b'{', b'}']),
        AnswerFault::Payload { kind: 1, .. }
    ));
    assert!(matches!(
        fault(&[1, 0, 0, 0, 0]),
        AnswerFault::Payload { kind: 1, .. }
    ));
    assert!(matches!(
        fault(&head(100).encode()),
        AnswerFault::Payload { kind: 1, .. }
    ));
    let long = [head(200).encode(), vec![2, 0, 0x10, 0, 1]].concat();
    assert!(matches!(fault(&long), AnswerFault::TooLong { kind: 2, .. }));
}
