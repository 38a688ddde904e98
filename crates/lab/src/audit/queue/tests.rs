//! A queue that is full, crowded or closed.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

#[test]
fn a_full_queue_waits_and_loses_nothing() {
    let queue = Arc::new(Queue::default());
    let pushed = Arc::new(AtomicUsize::new(0));
    let total = ROWS_MAX * 2 + 10;
    let producer = {
        let (queue, pushed) = (Arc::clone(&queue), Arc::clone(&pushed));
        std::thread::spawn(move || {
            for _ in 0..total {
                assert!(queue.push(AuditRow::default()));
                pushed.fetch_add(1, Ordering::SeqCst);
            }
        })
    };
    while pushed.load(Ordering::SeqCst) < ROWS_MAX {
        std::thread::yield_now();
    }
    // It is full now, and the producer stands still.
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(pushed.load(Ordering::SeqCst), ROWS_MAX);
    let mut taken = 0;
    while taken < total {
        let batch = queue.take().unwrap();
        assert!(batch.rows.len() <= ROWS_MAX);
        taken += batch.rows.len();
    }
    producer.join().unwrap();
    assert_eq!(taken, total);
}

#[test]
fn the_bytes_are_bounded_and_one_large_row_still_passes() {
    let queue = Queue::default();
    let large = AuditRow {
        response: Some("x".repeat(BYTES_MAX + 1)),
        ..AuditRow::default()
    };
    assert!(queue.push(large));
    assert!(!queue.lock().has_room_for(1));
    assert_eq!(queue.take().unwrap().rows.len(), 1);
    assert!(queue.lock().has_room_for(1));
}

#[test]
fn who_cannot_wait_is_taken_far_beyond_the_bounds_and_then_counted() {
    let queue = Queue::default();
    let (sender, told) = std::sync::mpsc::channel();
    queue.on_loss(move |lost| sender.send(lost).unwrap());
    for _ in 0..CROWDED_ROWS_MAX {
        assert!(queue.put(AuditRow::default()));
    }
    assert!(queue.lost().is_none() && !queue.has_room());
    for _ in 0..3 {
        assert!(queue.put(AuditRow::default()));
    }
    assert_eq!(told.recv().unwrap().count, 1);
    assert_eq!(queue.lost().unwrap().count, 3);
    assert_eq!(queue.take().unwrap().rows.len(), CROWDED_ROWS_MAX);
    assert!(queue.has_room());
    let large = AuditRow {
        response: Some("x".repeat(CROWDED_BYTES_MAX)),
        ..AuditRow::default()
    };
    assert!(queue.put(large));
    assert_eq!(queue.lost().unwrap().count, 4);
}

#[tokio::test]
async fn a_task_waits_for_room() {
    let queue = Arc::new(Queue::default());
    while queue.has_room() {
        assert!(queue.put(AuditRow::default()));
    }
    let waiting = tokio::spawn({
        let queue = Arc::clone(&queue);
        async move { queue.room().await }
    });
    tokio::task::yield_now().await;
    assert!(!waiting.is_finished());
    assert_eq!(queue.take().unwrap().rows.len(), ROWS_MAX);
    waiting.await.unwrap();
    queue.room().await;
    queue.close();
    queue.room().await;
}

#[test]
fn a_closed_queue_gives_what_it_has_and_takes_no_more() {
    let queue = Queue::default();
    assert!(queue.push(AuditRow::default()));
    queue.close();
    assert!(!queue.push(AuditRow::default()));
    assert_eq!(queue.take().unwrap().rows.len(), 1);
    assert!(queue.take().is_none());
}
