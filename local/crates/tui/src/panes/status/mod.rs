//! The line that says where one is and how things are.
