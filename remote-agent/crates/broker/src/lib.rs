//! Parked requests to model vendors, answered by a client that holds the key.
