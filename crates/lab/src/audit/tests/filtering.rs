//! Which rows come, and in which order.

use super::*;

fn start() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000)
}

#[allow(clippy::unnecessary_wraps, reason = "as the filter has it")]
fn at(seconds: u64) -> Option<SystemTime> {
    Some(start() + Duration::from_secs(seconds))
}

#[allow(clippy::unnecessary_wraps, reason = "as the filter has it")]
fn text(text: &str) -> Option<String> {
    Some(text.to_owned())
}

/// Twenty rows, a second after each other.
fn store() -> AuditStore {
    let store = AuditStore::in_memory().unwrap();
    for number in 0..20_u64 {
        store.record(AuditRow {
            ts: start() + Duration::from_secs(number),
            tool_name: text(if number % 2 == 0 { "even" } else { "odd" }),
            success: number % 5 != 0,
            error_category: (number % 5 == 0).then(|| format!("kind{}", number % 10)),
            session_id: Some(format!("session{}", number / 10)),
            method: if number == 7 { "ping" } else { "tools/call" }.into(),
            parameters: Some(format!("{{\"deep\":{{\"number\":{}}}}}", number % 4)),
            ..AuditRow::default()
        });
    }
    store.flush();
    store
}

/// What a case changes in a filter that wants everything, and the rows that it gives.
type Case = (fn(&mut Filter), &'static [i64]);

const CASES: [Case; 14] = [
    (|filter| filter.since = at(17), &[18, 19, 20]),
    (|filter| filter.until = at(1), &[1, 2]),
    (
        |filter| (filter.since, filter.until) = (at(5), at(6)),
        &[6, 7],
    ),
    (|filter| filter.since = at(50), &[]),
    (|filter| filter.until = Some(SystemTime::UNIX_EPOCH), &[]),
    (|filter| filter.success = Some(false), &[1, 6, 11, 16]),
    (
        |filter| (filter.success, filter.since) = (Some(true), at(17)),
        &[18, 19, 20],
    ),
    (|filter| filter.category = text("kind5"), &[6, 16]),
    (|filter| filter.method = text("ping"), &[8]),
    (|filter| filter.after = Some(18), &[19, 20]),
    (|filter| filter.limit = Some(0), &[]),
    (
        |filter| (filter.tool, filter.session) = (text("odd"), text("session1")),
        &[12, 14, 16, 18, 20],
    ),
    (
        |filter| filter.arguments = vec!["deep.number=3".parse().unwrap()],
        &[4, 8, 12, 16, 20],
    ),
    (
        |filter| filter.tool = text("'; DROP TABLE requests; --"),
        &[],
    ),
];

#[test]
fn filters_choose_rows() {
    let store = store();
    let reader = store.reader().unwrap();
    for (change, expected) in CASES {
        let mut filter = Filter::default();
        change(&mut filter);
        let mut newest_first = ids(&reader, filter.clone());
        newest_first.reverse();
        assert_eq!(newest_first, expected, "{filter:?}");
        filter.order = Order::OldestFirst;
        assert_eq!(ids(&reader, filter.clone()), expected, "{filter:?}");
        filter.limit = filter.limit.or(Some(2));
        let few: Vec<i64> = expected.iter().take(2).copied().collect();
        assert_eq!(ids(&reader, filter), few);
    }
}

#[test]
fn many_rows_come_page_by_page_each_once() {
    let store = AuditStore::in_memory().unwrap();
    let large = AuditRow {
        response: Some("x".repeat(60_000)),
        ..row("echo", true)
    };
    for _ in 0..200 {
        store.record(large.clone());
    }
    for _ in 0..1500 {
        store.record(row("echo", true));
    }
    store.flush();
    let reader = store.reader().unwrap();
    let expected: Vec<i64> = (1..=1700).rev().collect();
    assert_eq!(ids(&reader, Filter::default()), expected);
    // Memory stays bounded: a page of large rows ends early.
    let mut rows = reader.rows(Filter {
        order: Order::OldestFirst,
        ..Filter::default()
    });
    rows.next().unwrap().unwrap();
    assert!(format!("{rows:?}").len() < 10 << 20);
}
