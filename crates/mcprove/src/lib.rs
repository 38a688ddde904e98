//! The engine of mcprove, as a library.
