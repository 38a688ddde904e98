//! A session while one test uses it, and what a reader should know of it: where the server breaks the protocol in a
//! way that belongs to no single call.

use mcprove_settings::message::{Message, sentence};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use mcprove_check::pulse::{AfterAnswer, OUTLIVE_TIMEOUT};
use mcprove_client::session::{Session, Violation};
use mcprove_client::transport::Failure;
use mcprove_settings::phrase;
use mcprove_settings::quantity::describe_duration;
use mcprove_settings::sync::lock;
use mcprove_trace::protocol::Tool;

use super::{Connected, Listed, Pool};

/// How many violations are told one by one.
const TOLD_MAX: usize = 5;

/// A session while one test uses it.
pub(crate) struct Lease<'a> {
    pool: &'a Pool,
    pub(crate) connected: Arc<Connected>,
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
pub(super) struct Company {
    now: u64,
    ever: u64,
    hurt: u64,
    pub(super) is_spoilt: bool,
}

impl<'a> Lease<'a> {
    pub(super) fn new(pool: &'a Pool, connected: Arc<Connected>, is_shared: bool) -> Self {
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

    /// The session.
    pub(crate) fn session(&self) -> &Arc<Session> {
        &self.connected.session
    }

    /// The tool of this name, where the server lists it.
    pub(crate) fn tool(&self, name: &str) -> Option<&Tool> {
        let tools = self.connected.tools.as_ref().ok()?;
        tools.iter().find(|tool| tool.name == name)
    }

    /// Whether another test used the session at any time since this lease began.
    pub(crate) fn had_company(&self) -> bool {
        self.began_in_company || lock(&self.connected.company).ever > self.number
    }

    /// The call of this test ended with the session, or hung: nobody shall get it any more.
    pub(crate) fn hurt(&self) {
        lock(&self.connected.company).hurt += 1;
        self.spoil();
    }

    /// Whether another test may be to blame that this one was hurt: one that uses the session now, or was
    /// hurt too.
    pub(crate) fn shares_blame(&self) -> bool {
        let company = lock(&self.connected.company);
        company.now > 1 || company.hurt > 1
    }

    /// What the server asked for during this lease and did not get.
    pub(crate) fn declined(&self) -> Option<String> {
        self.connected.declined.since(self.declined)
    }

    /// What a reader should know of the session, and of what the server did during this lease.
    pub(crate) fn remarks(&self) -> Vec<Message> {
        let violations = self.connected.session.violations().first;
        let new = violations.get(self.violations..).unwrap_or_default();
        let own = self.connected.remarks.iter().cloned();
        let remarks = own.chain(remarks_of_violations(new));
        let mut remarks: Vec<Message> = remarks.map(Message::from).collect();
        if self.is_silent.load(Ordering::Relaxed) {
            remarks.push(sentence!(
                "the server left `ping` unanswered for {} after the call, so that it was not seen whether it outlived it",
                describe_duration(OUTLIVE_TIMEOUT)
            ));
        }
        remarks
    }

    /// How the server came to its end after what it answered, if it did and that shows in the session.
    pub(crate) async fn end_after_answer(&self) -> Option<Failure> {
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
    pub(crate) async fn is_alive(&self, limit: Duration) -> Option<bool> {
        self.pool.pulse.is_alive(self.session(), limit).await
    }

    /// Nobody shall get this session any more: it hung, died, or is in an unknown state.
    pub(crate) fn spoil(&self) {
        lock(&self.connected.company).is_spoilt = true;
    }

    /// Ends the lease: a session that was for this test alone is ended in an orderly way, or kept for the
    /// next.
    pub(crate) async fn done(self) {
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
pub(super) fn remarks_of_opening(session: &Session, tools: &Listed) -> Vec<String> {
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
