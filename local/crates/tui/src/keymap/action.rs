//! What keys can do.

/// What a key does to the screen as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Action {
    /// Stops, clears or leaves, step by step.
    Interrupt,
    /// Leaves when nothing is typed.
    EndOfInput,
    /// Gives the terminal back to the shell for a while.
    Suspend,
    /// Dials now.
    RetryLink,
    /// Goes to the next preset.
    CyclePreset,
    /// Goes to full access and back.
    ToggleFullAccess,
    /// Draws everything anew.
    Redraw,
    /// Opens the help.
    Help,
    /// Shows the forwards of the host.
    Ports,
    /// Scrolls the transcript.
    Scroll(Scroll),
    /// Shows or hides what the model thought.
    ToggleReasoning,
    /// Shows long output whole or shortened.
    ToggleOutput,
}

/// Where the transcript is scrolled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Scroll {
    /// Up by a line.
    LineUp,
    /// Down by a line.
    LineDown,
    /// Up by a page.
    PageUp,
    /// Down by a page.
    PageDown,
    /// To its start.
    Top,
    /// To its end, where it follows what comes.
    Bottom,
}

/// What a key does to the text in the composer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Edit {
    /// Moves the cursor.
    Move(Move),
    /// Moves the cursor to the row above, or takes an older prompt.
    Up,
    /// Moves the cursor to the row below, or takes a newer prompt.
    Down,
    /// Deletes from the cursor to where the move would go.
    Delete(Move),
    /// Deletes the same and keeps it for [`Edit::Yank`].
    Kill(Move),
    /// Inserts what was killed last.
    Yank,
    /// Takes the last change back.
    Undo,
    /// Makes the change again that was taken back.
    Redo,
    /// Inserts a line break.
    Newline,
    /// Sends the text.
    Send,
    /// Takes an older prompt.
    Older,
    /// Takes a newer prompt.
    Newer,
    /// Searches the prompts typed before.
    Search,
}

/// Where the cursor goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Move {
    /// One character back.
    Left,
    /// One character on.
    Right,
    /// To the start of the word.
    WordLeft,
    /// To the end of the word.
    WordRight,
    /// Back to the nearest blank.
    BlankLeft,
    /// To the start of the line.
    LineStart,
    /// To the end of the line.
    LineEnd,
    /// To the start of the text.
    Start,
    /// To the end of the text.
    End,
}

/// What a key does to a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum ListKey {
    /// One row up.
    Up,
    /// One row down.
    Down,
    /// One page up.
    PageUp,
    /// One page down.
    PageDown,
    /// The first row.
    First,
    /// The last row.
    Last,
    /// Takes the row.
    Accept,
    /// Closes the list.
    Close,
}
