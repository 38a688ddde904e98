use super::*;

#[test]
fn json_has_the_columns_in_their_order_and_json_within() {
    let row = AuditRow {
        request_id: Some("\"a\"".into()),
        parameters: Some("{\"z\": 1,\n \"a\": 12345678901234567890123}".into()),
        response: Some("{\"content\":[".into()),
        response_cut: true,
        headers: Some("{broken".into()),
        ..AuditRow::default()
    };
    let line = serde_json::to_string(&row).unwrap();
    assert!(!line.contains('\n'));
    assert!(
        line.contains(r#""parameters":{"z": 1,  "a": 12345678901234567890123}"#),
        "{line}"
    );
    let places: Vec<_> = COLUMNS
        .iter()
        .map(|name| line.find(&format!("\"{name}\":")).unwrap())
        .collect();
    assert!(places.is_sorted(), "{line}");
    let json = row.to_json();
    assert_eq!(json["request_id"], "a");
    assert_eq!(json["response"], "{\"content\":[");
    assert_eq!(json["headers"], "{broken");
    assert_eq!(json["user"], Value::Null);
}
