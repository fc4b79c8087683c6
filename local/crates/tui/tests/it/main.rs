//! Tests of the screen: keys and events in, text out.
