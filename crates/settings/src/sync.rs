//! Locks.

use crate::prelude::*;
use std::sync::{MutexGuard, PoisonError};

/// A value locked whatever happened to the thread that held it, for states that are valid at any time.
pub fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
