//! An HTTP client for the endpoint of a model vendor.
