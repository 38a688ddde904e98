//! One HTTP/1.1 connection, driven by the task that uses it.
//!
//! hyper splits a connection into a handle and a driver that some task must poll. Here both
//! stay in one task: a request then costs no hop to another task, and dropping the task closes
//! the socket, which is how a request is abandoned.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use mcprove_score::trace::ErrorCategory;

use super::HttpOptions;
use super::address::{Address, Wire};
use crate::transport::Failure;

type Driver = http1::Connection<TokioIo<Wire>, Full<Bytes>>;

/// An open connection.
pub(in crate::transport) struct Connection {
    sender: http1::SendRequest<Full<Bytes>>,
    /// `None` once the connection is closed.
    driver: Option<Box<Driver>>,
}

/// Why a request got no response.
pub(in crate::transport) struct NoResponse {
    pub failure: Failure,
    /// Nothing was sent: the connection was found closed. A request that was sent may have been
    /// acted upon, even if nothing came back, and must not be sent twice.
    pub is_unsent: bool,
}

impl Connection {
    /// Dials `address`.
    pub async fn open(address: &Address, options: &HttpOptions) -> Result<Self, Failure> {
        let wire = address.dial(options).await?;
        let (sender, driver) = http1::handshake(TokioIo::new(wire))
            .await
            .map_err(|error| address.unreachable(&error.to_string()))?;
        Ok(Self {
            sender,
            driver: Some(Box::new(driver)),
        })
    }

    /// Sends `request` and waits for the head of the response.
    pub async fn send(
        &mut self,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, NoResponse> {
        let Self { sender, driver } = self;
        let exchange = async {
            sender.ready().await?;
            sender.send_request(request).await
        };
        drive(driver, exchange).await.map_err(|error| NoResponse {
            failure: describe(&error),
            is_unsent: error.is_canceled(),
        })
    }

    /// The next piece of a response's body; `None` at its end.
    pub async fn next_chunk(&mut self, body: &mut Incoming) -> Result<Option<Bytes>, Failure> {
        loop {
            match drive(&mut self.driver, body.frame()).await {
                None => return Ok(None),
                Some(Err(error)) => return Err(describe(&error)),
                // Trailers carry nothing for us.
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        return Ok(Some(data));
                    }
                }
            }
        }
    }

    /// Waits for `future` while keeping an eye on the connection; `None` if it closes first.
    pub async fn unless_closed<F: Future + Unpin>(&mut self, mut future: F) -> Option<F::Output> {
        poll_fn(|context| {
            if let Poll::Ready(output) = Pin::new(&mut future).poll(context) {
                return Poll::Ready(Some(output));
            }
            poll_driver(&mut self.driver, context);
            if self.is_open() {
                Poll::Pending
            } else {
                Poll::Ready(None)
            }
        })
        .await
    }

    /// Whether another request can be sent, as far as we know.
    pub fn is_open(&self) -> bool {
        self.driver.is_some() && !self.sender.is_closed()
    }
}

/// Polls `future` and the connection it depends on, until the future is ready.
async fn drive<F: Future>(driver: &mut Option<Box<Driver>>, future: F) -> F::Output {
    let mut future = pin!(future);
    poll_fn(|context| {
        if let Poll::Ready(output) = future.as_mut().poll(context) {
            return Poll::Ready(output);
        }
        poll_driver(driver, context);
        // What the driver just read is often what the future waits for.
        future.as_mut().poll(context)
    })
    .await
}

fn poll_driver(driver: &mut Option<Box<Driver>>, context: &mut Context<'_>) {
    if let Some(connection) = driver
        && Pin::new(connection).poll(context).is_ready()
    {
        *driver = None;
    }
}

fn describe(error: &hyper::Error) -> Failure {
    if error.is_parse() {
        let message = format!("the server did not answer in HTTP/1.1: {error}");
        return Failure::new(ErrorCategory::Malformed, message);
    }
    let mut cause: &dyn std::error::Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    let message = format!("the connection closed before the answer was complete: {cause}");
    Failure::new(ErrorCategory::Disconnected, message)
}
