//! A panic in one test of a suite, or in what a user of the library hands in, ends that and nothing else.
//!
//! Programs that end on a panic, as `mcprove` does, ask [`is_contained`] first.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::Poll;

thread_local! {
    static IS_CONTAINED: Cell<bool> = const { Cell::new(false) };
}

/// Whether a panic on this thread, now, would end a test of a suite or a call of a handler, and nothing else.
pub fn is_contained() -> bool {
    IS_CONTAINED.get()
}

/// What comes of it, or what it said when it panicked.
pub async fn contain<F: Future + ?Sized>(mut future: Pin<Box<F>>) -> Result<F::Output, String> {
    std::future::poll_fn(move |context| {
        // After a panic it is dropped and never looked at again.
        match contain_call(|| future.as_mut().poll(context)) {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(value)) => Poll::Ready(Ok(value)),
            Err(words) => Poll::Ready(Err(words)),
        }
    })
    .await
}

/// What a function returns, or what it said when it panicked. What it had in hand must still be of use then.
pub fn contain_call<T>(call: impl FnOnce() -> T) -> Result<T, String> {
    let before = IS_CONTAINED.replace(true);
    let outcome = catch_unwind(AssertUnwindSafe(call));
    IS_CONTAINED.set(before);
    outcome.map_err(|payload| words(&*payload))
}

fn words(payload: &(dyn Any + Send)) -> String {
    payload
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("it said nothing")
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_becomes_words() {
        assert_eq!(contain(Box::pin(async { 7 })).await, Ok(7));
        let panicking = contain(Box::pin(async {
            tokio::task::yield_now().await;
            assert!(is_contained());
            panic!("number {}", 3);
        }));
        let panicked: Result<(), String> = panicking.await;
        assert_eq!(panicked, Err("number 3".to_owned()));
        assert!(!is_contained());
    }
}
