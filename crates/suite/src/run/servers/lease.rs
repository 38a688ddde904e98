//! A session while one test uses it, and what a reader should know of it: where the server breaks the protocol in a

use super::{Connected, Listed, Pool};
use crate::prelude::*;
use mcprove_check::pulse::{AfterAnswer, OUTLIVE_TIMEOUT};
use mcprove_client::session::{Responder, Response, Violation};
use mcprove_trace::protocol::Revision;
use std::sync::atomic::{AtomicBool, Ordering};

/// How many violations are told one by one.
const TOLD_MAX: usize = 5;

/// A session while one test uses it.
pub struct Lease<'a> {
    pool: &'a Pool,
    pub connected: Arc<Connected>,
    /// Whether it is the session that all tests share.
    is_shared: bool,
    /// How many leases there had been of this session, this one included.
    number: u64,
    /// Whether others had one when this began.
    began_in_company: bool,
    /// How often the server had broken the protocol when this began.
    violations: usize,
    /// How much had been declined when this began.
    declined: u64,
    /// Whether `ping` was left unanswered after the call.
    is_silent: AtomicBool,
}

/// Who uses a session.
#[derive(Debug, Default)]
pub struct Company {
    now: u64,
    ever: u64,
    hurt: u64,
    pub is_spoilt: bool,
}

impl<'a> Lease<'a> {
    pub fn new(pool: &'a Pool, connected: Arc<Connected>, is_shared: bool) -> Self {
        let mut company = lock(&connected.company);
        company.now += 1;
        company.ever += 1;
        let (number, began_in_company) = (company.ever, company.now > 1);
        drop(company);
        Self {
            pool,
            is_shared,
            number,
            began_in_company,
            violations: connected.session.violations().first.len(),
            declined: connected.declined.count(),
            is_silent: AtomicBool::new(false),
            connected,
        }
    }

    pub fn session(&self) -> &Arc<Session> {
        &self.connected.session
    }

    /// The tool of this name, where the server lists it.
    pub fn tool(&self, name: &str) -> Option<&Tool> {
        self.connected
            .tools
            .as_ref()
            .ok()?
            .iter()
            .find(|tool| tool.name == name)
    }

    /// Whether another test used the session at any time since this lease began.
    pub fn had_company(&self) -> bool {
        self.began_in_company || lock(&self.connected.company).ever > self.number
    }

    /// A call of this tool succeeded.
    pub fn succeeded(&self, tool: &str) {
        lock(&self.pool.seen).succeeded(tool);
    }

    /// The call of this test ended with the session, or hung: nobody shall get it any more.
    pub fn hurt(&self) {
        lock(&self.connected.company).hurt += 1;
        self.spoil();
    }

    /// Whether another test may be to blame that this one was hurt: one that uses the session now, or was
    /// hurt too.
    pub fn shares_blame(&self) -> bool {
        let company = lock(&self.connected.company);
        company.now > 1 || company.hurt > 1
    }

    /// What the server asked for during this lease and did not get.
    pub fn declined(&self) -> Option<String> {
        self.connected.declined.since(self.declined)
    }

    /// What a reader should know of the session, and of what the server did during this lease.
    pub fn remarks(&self) -> Vec<Message> {
        let violations = self.connected.session.violations().first;
        let new = violations.get(self.violations..).unwrap_or_default();
        let own = self.connected.remarks.iter().cloned();
        let cancelled = self.connected.session.stray_cancels().describe();
        let remarks = own.chain(remarks_of_violations(new)).chain(cancelled);
        let mut remarks: Vec<Message> = remarks.map(Message::from).collect();
        if self.is_silent.load(Ordering::Relaxed) {
            remarks.push(sentence!(
                "the server did not answer `ping` for {} after the call, so it is not known whether it survived the call",
                describe_duration(OUTLIVE_TIMEOUT)
            ));
        }
        remarks
    }

    /// How the server came to its end after what it answered, if it did and that shows in the session.
    pub async fn end_after_answer(&self) -> Option<Failure> {
        let is_alone = !self.had_company();
        let pulse = &self.pool.pulse;
        match pulse.after_answer(self.session(), is_alone).await {
            AfterAnswer::Alive => None,
            AfterAnswer::Silent => {
                self.is_silent.store(true, Ordering::Relaxed);
                None
            }
            AfterAnswer::Ended(end) => Some(end),
        }
    }

    /// Whether the server, which left a call unanswered, still answers `ping`; none where it never does.
    pub async fn is_alive(&self, limit: Duration) -> Option<bool> {
        self.pool.pulse.is_alive(self.session(), limit).await
    }

    /// Nobody shall get this session any more: it hung, died, or is in an unknown state.
    pub fn spoil(&self) {
        lock(&self.connected.company).is_spoilt = true;
    }

    /// Ends the lease: a session that was for this test alone is ended in an orderly way, or kept for the
    /// next.
    pub async fn done(self) {
        // One that is of no use is not waited for.
        if self.is_shared || !self.connected.is_fit() {
            return;
        }
        if self.pool.plan.is_fresh {
            self.connected.session.end().await;
        } else {
            lock(&self.pool.idle).push(Arc::clone(&self.connected));
        }
    }
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        lock(&self.connected.company).now -= 1;
    }
}

/// What was noticed until the server had listed its tools.
pub fn remarks_of_opening(session: &Session, tools: &Listed) -> Vec<String> {
    let mut remarks = session.warnings().to_vec();
    if let Err(error) = tools {
        remarks.push(format!("the server does not list its tools: {error}"));
    }
    remarks.extend(remarks_of_violations(&session.violations().first));
    remarks
}

/// Each violation once, and how many more there are.
fn remarks_of_violations(violations: &[Violation]) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let mut remarks: Vec<String> = violations
        .iter()
        .map(|Violation { kind, message, .. }| {
            let what = kind.explanation();
            format!("the server broke the protocol: it {what}: {message}")
        })
        .filter(|remark| seen.insert(remark.clone()))
        .collect();
    if remarks.len() > TOLD_MAX {
        let more = phrase::count((remarks.len() - TOLD_MAX) as u64, "more time");
        remarks.truncate(TOLD_MAX);
        remarks.push(format!("the server broke the protocol {more}"));
    }
    remarks
}

/// What was declined in a session: how much, and the last of it.
#[derive(Debug, Default)]
pub struct Declined {
    seen: Mutex<(u64, String)>,
}

impl Declined {
    /// How much was declined so far.
    pub fn count(&self) -> u64 {
        lock(&self.seen).0
    }

    /// What was asked for last, if anything was declined since there had been so much.
    pub fn since(&self, count: u64) -> Option<String> {
        let seen = lock(&self.seen);
        (seen.0 > count).then(|| seen.1.clone())
    }

    fn add(&self, method: &str) {
        let mut seen = lock(&self.seen);
        *seen = (seen.0 + 1, method.to_owned());
    }
}

/// Answers as another does, and notes what that one declines.
pub struct Watching {
    pub inner: Arc<dyn Responder>,
    pub declined: Arc<Declined>,
}

impl Responder for Watching {
    fn capabilities(&self, revision: Revision) -> Value {
        self.inner.capabilities(revision)
    }

    fn respond(&self, method: &str, params: &Value) -> Response {
        let response = self.inner.respond(method, params);
        let is_declined = match (method, &response) {
            ("sampling/createMessage" | "elicitation/create", Err(_)) => true,
            ("elicitation/create", Ok(answer)) => {
                answer.get("action").and_then(Value::as_str) != Some("accept")
            }
            _ => false,
        };
        if is_declined {
            self.declined.add(method);
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcprove_client::session::{Accept, Decline};

    #[test]
    fn only_what_is_declined_is_noted() {
        let declined = Arc::new(Declined::default());
        let watching = |inner: Arc<dyn Responder>| Watching {
            inner,
            declined: Arc::clone(&declined),
        };
        let accepting = watching(Arc::new(Accept));
        for method in ["roots/list", "sampling/createMessage", "elicitation/create"] {
            assert!(accepting.respond(method, &Value::Null).is_ok());
        }
        assert_eq!((declined.count(), declined.since(0)), (0, None));
        let declining = watching(Arc::new(Decline));
        for method in ["roots/list", "elicitation/create", "sampling/createMessage"] {
            let _ = declining.respond(method, &Value::Null);
        }
        assert_eq!(declined.count(), 2);
        let last = declined.since(1);
        assert_eq!(last.as_deref(), Some("sampling/createMessage"));
        assert_eq!(declined.since(2), None);
    }
}
