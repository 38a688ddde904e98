//! A worker: a task with a connection of its own, which runs one exchange after the other.
//!
//! Between two exchanges it parks, with an eye on its connection. Aborting the task is how the
//! pool closes the connection.

use std::future::poll_fn;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use futures_util::task::AtomicWaker;
use mcprove_settings::sync::lock;

use super::connection::Connection;
use super::exchange;
use super::pool::{Job, Pool};

/// Where a worker receives its next message.
pub struct Seat {
    /// Which worker sits here.
    pub worker: u64,
    job: Mutex<Option<Job>>,
    waker: AtomicWaker,
}

/// What a worker does after an exchange.
pub enum Next {
    Run(Job),
    Park,
    End,
}

impl Seat {
    pub fn new(worker: u64, job: Job) -> Self {
        Self {
            worker,
            job: Mutex::new(Some(job)),
            waker: AtomicWaker::new(),
        }
    }

    pub fn hand(&self, job: Job) {
        *lock(&self.job) = Some(job);
        self.waker.wake();
    }

    pub fn take(&self) -> Option<Job> {
        lock(&self.job).take()
    }

    fn poll_job(&self, context: &mut Context<'_>) -> Poll<Job> {
        if let Some(job) = self.take() {
            return Poll::Ready(job);
        }
        self.waker.register(context.waker());
        self.take().map_or(Poll::Pending, Poll::Ready)
    }
}

/// The life of a worker.
pub async fn work(pool: Arc<Pool>, seat: Arc<Seat>) {
    let mut connection: Option<Connection> = None;
    let mut job = poll_fn(|context| seat.poll_job(context)).await;
    loop {
        connection = exchange::run(&pool, connection, &job).await;
        job = match pool.finish(&seat, &job, connection.is_some()) {
            Next::Run(next) => next,
            Next::End => return,
            Next::Park => {
                let wait = poll_fn(|context| seat.poll_job(context));
                let next = match &mut connection {
                    Some(connection) => connection.unless_closed(wait).await,
                    None => None,
                };
                match next.or_else(|| pool.unpark(&seat)) {
                    Some(next) => next,
                    None => return,
                }
            }
        };
    }
}
