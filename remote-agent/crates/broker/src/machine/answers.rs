//! Answers as they are delivered.

use std::time::Duration;

use protocol::{AnswerReceipt, BrokerId, broker::AnswerFrame, limits::BROKER_AHEAD};

use super::{Answer, Machine, News, Refusal, claims::Place};

/// Bytes up to which pieces of a body are joined.
const JOIN: usize = 64 * 1024;

/// A delivery of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ticket {
    pub(crate) request: u64,
    pub(crate) broker: BrokerId,
    /// Which delivery of this request it is; only the newest one counts.
    delivery: u64,
    /// Where its next byte is in the answer.
    position: u64,
}

/// What came of bytes that were delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fed {
    /// So many of them were taken.
    Taken(usize),
    /// The turn is behind; they must be offered again.
    Full,
}

impl Machine {
    /// Begins to take in an answer from a byte on. An answer that has come as a whole has a receipt instead.
    pub(crate) fn deliver(
        &mut self,
        request: u64,
        broker: BrokerId,
        offset: u64,
        now: Duration,
    ) -> Result<Result<Ticket, AnswerReceipt>, Refusal> {
        let Some(entry) = self.parked.get_mut(&request) else {
            let known = self.find_answered(broker, request);
            let known = known.ok_or(Refusal::Over(request))?;
            return Ok(Err(AnswerReceipt {
                received: known.received,
                complete: true,
            }));
        };
        match entry.place {
            Place::Claimed { by } if by == broker => {}
            Place::Claimed { .. } => return Err(Refusal::Taken(request)),
            Place::Open | Place::Offered { .. } => return Err(Refusal::NotFetched(request)),
        }
        let received = entry.answer.received;
        if offset > received {
            return Err(Refusal::Gap {
                request,
                received,
                offset,
            });
        }
        if entry.answer.is_over() {
            return Ok(Err(AnswerReceipt {
                received,
                complete: true,
            }));
        }
        entry.answer.delivery += 1;
        let ticket = Ticket {
            request,
            broker,
            delivery: entry.answer.delivery,
            position: offset,
        };
        self.begin_delivery(broker, now);
        Ok(Ok(ticket))
    }

    /// Takes in bytes of a delivery, as many as there is room for.
    pub(crate) fn feed(&mut self, ticket: &mut Ticket, bytes: &[u8]) -> Result<Fed, Refusal> {
        let request = ticket.request;
        let answer = self.delivered(ticket)?;
        let known = usize::try_from(answer.received - ticket.position).unwrap_or(usize::MAX);
        if known > 0 {
            let skipped = known.min(bytes.len());
            ticket.position += skipped as u64;
            return Ok(Fed::Taken(skipped));
        }
        let room = BROKER_AHEAD.saturating_sub(answer.ahead);
        if room == 0 {
            return Ok(Fed::Full);
        }
        let taken = bytes.get(..room).unwrap_or(bytes);
        let mut frames = Vec::new();
        let outcome = answer.decoder.push(taken, &mut frames);
        answer.received += taken.len() as u64;
        ticket.position += taken.len() as u64;
        for frame in frames {
            answer.tell(frame);
        }
        let outcome = outcome.map_err(|fault| {
            // What it says after its end changes nothing of the answer.
            if !answer.decoder.is_over() {
                answer.is_broken = true;
                answer.news.push_back(News::Fault(fault.to_string()));
            }
            Refusal::Nonsense {
                request,
                why: fault.to_string(),
            }
        });
        self.version += 1;
        outcome.map(|()| Fed::Taken(taken.len()))
    }

    /// Says how far the answer of a delivery is.
    pub(crate) fn receipt(&mut self, ticket: &Ticket) -> Result<AnswerReceipt, Refusal> {
        if let Some(known) = self.find_answered(ticket.broker, ticket.request) {
            return Ok(AnswerReceipt {
                received: known.received,
                complete: true,
            });
        }
        let answer = self.delivered(ticket)?;
        Ok(AnswerReceipt {
            received: answer.received,
            complete: answer.decoder.is_over(),
        })
    }

    fn delivered(&mut self, ticket: &Ticket) -> Result<&mut Answer, Refusal> {
        let over = Refusal::Over(ticket.request);
        let entry = self.parked.get_mut(&ticket.request).ok_or(over)?;
        if entry.answer.delivery == ticket.delivery {
            Ok(&mut entry.answer)
        } else {
            Err(Refusal::Replaced(ticket.request))
        }
    }
}

impl Answer {
    fn tell(&mut self, frame: AnswerFrame) {
        match frame {
            AnswerFrame::Head(head) => self.news.push_back(News::Head(head)),
            AnswerFrame::End(end) => self.news.push_back(News::End(end)),
            AnswerFrame::Data(bytes) if bytes.is_empty() => {}
            AnswerFrame::Data(bytes) => {
                self.ahead += bytes.len();
                match self.news.back_mut() {
                    Some(News::Data(known)) if known.len() + bytes.len() <= JOIN => known.extend(bytes),
                    _ => self.news.push_back(News::Data(bytes)),
                }
            }
        }
    }
}
