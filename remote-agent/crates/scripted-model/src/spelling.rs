//! Ways to spell a correct answer that readers get wrong.

use serde::{Deserialize, Serialize};

/// How an answer is spelled. The default is what the OpenAI API sends.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Spelling {
    /// What ends a line.
    pub line_end: LineEnd,
    /// Departures from the usual event framing.
    pub framing: Vec<Framing>,
    /// How tool calls are cut into deltas.
    pub calls: CallSpelling,
    /// Where the usage is.
    pub usage: UsageSpelling,
    /// Bytes per write; `None` writes one event at a time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write_size: Option<usize>,
}

/// What ends a line of the event stream; the specification of server-sent events allows all three.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LineEnd {
    /// A line feed.
    #[default]
    Lf,
    /// A carriage return and a line feed.
    CrLf,
    /// A carriage return alone.
    Cr,
}

/// A departure from the usual event framing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Framing {
    /// `data:{…}` without the space.
    NoSpace,
    /// `: keep-alive` comments between events.
    Comments,
    /// One event over several `data:` lines, cut where JSON allows white space.
    ManyDataLines,
    /// A byte order mark before the first line.
    ByteOrderMark,
    /// `event:`, `id:` and `retry:` fields and fields nobody knows around the data.
    OtherFields,
    /// No blank line after the last event.
    NoFinalBlankLine,
    /// No `[DONE]` at the end.
    NoDone,
}

/// How tool calls are cut into deltas.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallSpelling {
    /// The first delta has index, id and name; later ones index and arguments.
    #[default]
    Standard,
    /// Later deltas carry `"id": ""`.
    EmptyIds,
    /// Later deltas carry `"id": null` and `"name": null`.
    Nulls,
    /// Every delta repeats id and name.
    Repeated,
    /// No delta has an index; each names its call by id.
    NoIndex,
    /// No delta has an index, and only the first of a call has an id.
    NoIndexFirstIdOnly,
    /// Every delta says index 0; calls differ by id, which only the first delta of a call carries.
    SameIndex,
    /// Indexes start at 1 and have holes.
    SparseIndex,
    /// All calls come whole in one delta.
    OneDelta,
    /// The deltas of several calls alternate.
    Interleaved,
}

/// Where the usage is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UsageSpelling {
    /// In a last chunk with `"choices": []`, when the request asks for it.
    #[default]
    ClosingChunk,
    /// In a last chunk without the field `choices`.
    ClosingChunkWithoutChoices,
    /// In the closing chunk, and `"usage": null` in every other one.
    NullElsewhere,
    /// In the chunk with the finish reason.
    OnFinish,
    /// A first chunk with empty choices, and then as usual.
    EmptyFirstChunk,
    /// The running count in every chunk, as some gateways send it.
    EveryChunk,
    /// Nowhere.
    Off,
}

impl Spelling {
    /// Ends lines like this.
    #[must_use]
    pub fn lines(mut self, line_end: LineEnd) -> Self {
        self.line_end = line_end;
        self
    }

    /// Adds a departure from the usual framing.
    #[must_use]
    pub fn framed(mut self, framing: Framing) -> Self {
        self.framing.push(framing);
        self
    }

    /// Cuts tool calls like this.
    #[must_use]
    pub fn calls(mut self, calls: CallSpelling) -> Self {
        self.calls = calls;
        self
    }

    /// Puts the usage there.
    #[must_use]
    pub fn usage(mut self, usage: UsageSpelling) -> Self {
        self.usage = usage;
        self
    }

    /// Writes this many bytes at a time.
    #[must_use]
    pub fn writes(mut self, size: usize) -> Self {
        self.write_size = Some(size);
        self
    }

    /// Says whether the framing departs in this way.
    #[must_use]
    pub fn has(&self, framing: Framing) -> bool {
        self.framing.contains(&framing)
    }
}
