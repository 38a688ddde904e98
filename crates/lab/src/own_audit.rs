//! The audit as a resource, where there is no file to look into: `lab://audit`.

use std::sync::Arc;

use mcprove_servers::hosting::Identity;
use serde_json::Value;

use super::audit::{AUDIT_FORMAT, AuditError, AuditList, AuditRow, AuditStore, Filter};
use super::resources::{contents, resource};

/// Where it is.
pub const URI: &str = "lab://audit";
/// The most rows that are shown.
const ROWS_MAX: usize = 100;
/// About how long the rows may be in all.
const BYTES_MAX: usize = 1 << 20;

/// Shows the latest rows of an audit in memory.
pub struct OwnAudit(Arc<AuditStore>);

impl OwnAudit {
    /// That of this store, unless it is in a file: whoever may read the file can look into it, and
    /// nobody else is to.
    pub fn of(store: Option<&Arc<AuditStore>>) -> Option<Self> {
        let store = store.filter(|store| store.is_in_memory())?;
        Some(Self(Arc::clone(store)))
    }

    /// As it is listed.
    pub fn listed() -> Value {
        let text = "The latest requests and what came of them, the newest first.";
        resource(URI, "audit", text)
    }

    /// What was asked so far, as far as this caller is concerned: with API keys everybody sees their own.
    pub async fn read(&self, identity: Option<&Identity>) -> Option<Value> {
        let store = Arc::clone(&self.0);
        let user = identity.map(|identity| identity.user.clone());
        // SQLite waits where it has to.
        let read = tokio::task::spawn_blocking(move || latest(&store, user.as_deref()));
        let rows = read.await.ok()?.ok()?;
        let list = AuditList {
            schema: AUDIT_FORMAT,
            rows,
        };
        let text = serde_json::to_string(&list).ok()?;
        Some(contents(URI, &text))
    }
}

fn latest(store: &AuditStore, user: Option<&str>) -> Result<Vec<AuditRow>, AuditError> {
    store.flush();
    let reader = store.reader()?;
    let (mut shown, mut bytes) = (Vec::new(), 0);
    for row in reader.rows(Filter::default()) {
        let mut row = row?;
        if user.is_some() && row.user.as_deref() != user {
            continue;
        }
        if shows_audit(&row) {
            // The audit within the audit would soon be all of it.
            row.response = None;
            row.response_cut = true;
        }
        bytes += row.bytes();
        if shown.len() == ROWS_MAX || bytes > BYTES_MAX && !shown.is_empty() {
            break;
        }
        shown.push(row);
    }
    Ok(shown)
}

/// Whether the answer of a row holds rows itself.
fn shows_audit(row: &AuditRow) -> bool {
    let has =
        |text: &Option<String>, part: &str| text.as_ref().is_some_and(|text| text.contains(part));
    has(&row.parameters, URI) && has(&row.response, AUDIT_FORMAT)
}
