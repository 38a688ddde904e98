//! What the generator could do at best: the same client against a built-in echo in this process,
//! for a fifth of a second before each load. A load that comes near it measures the generator.

use crate::prelude::*;
use mcprove_servers::fixture;

/// How long is calibrated.
const TIME: Duration = Duration::from_millis(200);
/// Calls in flight while calibrating.
const CONCURRENT: usize = 64;

/// Calls per second that this machine makes against a server that does nothing; none when even
/// that fails.
pub fn calibrate() -> Option<f64> {
    let runtime = thread_runtime().ok()?;
    let rate = runtime.block_on(measure());
    runtime.shutdown_background();
    rate
}

async fn measure() -> Option<f64> {
    let (output, input) =
        fixture::spawn_in_memory("echo", &fixture::FixtureOptions::default()).ok()?;
    let recorder = EventStream::unobserved().recorder();
    let session = Session::connect_streams(output, input, SessionOptions::default(), recorder);
    let session = Arc::new(session.await.ok()?);
    let request = Arc::new(Request::tool("echo", &json!({ "message": "hello" })));
    let began = Instant::now();
    let workers: Vec<_> = (0..CONCURRENT)
        .map(|_| {
            let (session, request) = (Arc::clone(&session), Arc::clone(&request));
            tokio::spawn(async move {
                let mut calls = 0_u32;
                while began.elapsed() < TIME && session.request_once(&request).await.is_ok() {
                    calls += 1;
                }
                calls
            })
        })
        .collect();
    let mut calls = 0_u32;
    for worker in workers {
        calls += worker.await.unwrap_or_default();
    }
    let elapsed = began.elapsed().as_secs_f64();
    (calls > 0 && elapsed > 0.0).then(|| f64::from(calls) / elapsed)
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_server_that_does_nothing_is_fast() {
        assert!(super::calibrate().unwrap() > 100.0);
    }
}
