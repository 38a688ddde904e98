//! What each kind of fault does to a call, and its settings: an arm of [`Effect::apply`] each. What others have to know
//! of a kind is in its row in the crate `trace`.

use mcprove_settings::registry::filled;
use mcprove_settings::setting::Settings;
use serde_json::Number;
use tokio::sync::oneshot;
use tokio::time::sleep;

use crate::call::{self as reply, changed, fail, hang, pass_on};
use crate::prelude::*;

/// What servers say of a tool that they do not have.
const INVALID_PARAMS: i64 = -32_602;
/// What ends up on stdout in real servers.
const NOISE: [&[u8]; 2] = [b"DEBUG: mcprove: injected noise", b"[===>      ] 37%"];
/// Where the text of an oversized reply comes, until the message is written.
const MARK: &str = "mcprove: injected oversized text";
/// How far the overtaken reply stays behind.
const GAP: Duration = Duration::from_millis(50);

/// Milliseconds, up to a day.
const DELAY: Kind = Kind::Whole(0, 86_400_000);

/// The settings of all kinds; which kind has which says [`settings_of`].
#[derive(Settings)]
struct KindSettings {
    /// how late, in milliseconds
    #[setting(default = 1_000, kind = DELAY)]
    delay_ms: u64,
    /// how many calls hang
    #[setting(default = 1, kind = WHOLE)]
    failures: u64,
    /// the code of the error
    #[setting(default = "-32000")]
    code: i64,
    /// the share of calls that fail, from 0 to 1
    #[setting(default = 0.5, kind = SHARE)]
    rate: f64,
    /// how late at least, in milliseconds
    #[setting(default = 0, kind = DELAY)]
    min_ms: u64,
    /// how late at most, in milliseconds
    #[setting(default = 1_000, kind = DELAY)]
    max_ms: u64,
    /// how long the text is
    #[setting(default = 10_485_760, kind = Kind::Whole(0, 1 << 30))]
    bytes: usize,
    /// how long a reply waits to be overtaken, in milliseconds
    #[setting(default = 500, kind = DELAY)]
    hold_ms: u64,
    /// the time between two notifications, in milliseconds
    #[setting(default = 100, kind = DELAY)]
    every_ms: u64,
    /// the status
    #[setting(default = 503, kind = Kind::Whole(400, 599))]
    status: u64,
    /// after how many seconds to retry (Retry-After)
    #[setting(default = 1, kind = WHOLE)]
    retry_after_s: u64,
}

/// Every kind of fault, in the order in which they are explained.
pub fn kinds() -> impl Iterator<Item = FaultKind> {
    FaultKind::ALL.into_iter().map(|(_, kind)| kind)
}

/// The settings of a kind.
pub fn settings_of(kind: FaultKind) -> Vec<&'static Setting> {
    let names: &[&str] = match kind {
        FaultKind::Slow | FaultKind::ReplyAfterCancel => &["delay_ms"],
        FaultKind::RecoverAfter => &["failures"],
        FaultKind::Error => &["code"],
        FaultKind::Flaky => &["rate"],
        FaultKind::Jitter => &["min_ms", "max_ms"],
        FaultKind::Oversized => &["bytes"],
        FaultKind::Reorder => &["hold_ms"],
        FaultKind::ProgressForever => &["every_ms"],
        FaultKind::HttpStatus => &["status", "retry_after_s"],
        _ => &[],
    };
    KindSettings::declared()
        .iter()
        .filter(|setting| names.contains(&setting.name))
        .collect()
}

/// What a fault does to the calls that it strikes.
pub struct Effect {
    kind: FaultKind,
    settings: KindSettings,
    /// Lets the reply go on that waits to be overtaken.
    held: Mutex<Option<oneshot::Sender<()>>>,
}

impl Effect {
    /// Of a fault with these settings; `None` if they are not those of its kind.
    pub fn new(spec: &FaultSpec) -> Option<Self> {
        Some(Self {
            kind: spec.kind,
            settings: filled(&spec.settings).ok()?,
            held: Mutex::default(),
        })
    }

    /// Does it to one call. `draw` is the random choice of this very call: the same call of the same
    /// seed has the same draw, whatever else goes on.
    pub async fn apply(&self, call: &dyn FaultedCall, draw: u64) {
        let (name, settings) = (self.kind.name(), &self.settings);
        match self.kind {
            FaultKind::None => pass_on(call).await,
            FaultKind::Hang
            | FaultKind::Wedged
            | FaultKind::RecoverAfter
            | FaultKind::LoseRequest => hang(call, name).await,
            FaultKind::LoseReply => {
                call.execute().await;
                hang(call, name).await;
            }
            // Before it is executed, so that a call that is cancelled meanwhile never is.
            FaultKind::Slow | FaultKind::Jitter => {
                sleep(self.delay(draw).unwrap_or_default()).await;
                pass_on(call).await;
            }
            FaultKind::ReplyAfterCancel => {
                call.ignore_cancellation();
                sleep(millis(settings.delay_ms)).await;
                pass_on(call).await;
            }
            FaultKind::Error => fail(call, name, settings.code, "mcprove: injected error").await,
            FaultKind::Flaky => {
                let message = "mcprove: injected flaky failure";
                fail(call, name, reply::FAILURE_CODE, message).await;
            }
            FaultKind::ToolError => {
                let text = json!([{ "type": "text", "text": "mcprove: injected tool error" }]);
                let result = json!({ "content": text, "isError": true });
                call.reply(reply::result(call, result)).await;
            }
            FaultKind::Vanish => {
                let message = format!("Unknown tool: {}", call.tool());
                let error = reply::error(call, INVALID_PARAMS, &message, None);
                call.reply(error).await;
            }
            FaultKind::HttpStatus => {
                let status = u16::try_from(settings.status).unwrap_or(503);
                call.refuse(status, settings.retry_after_s).await;
            }
            FaultKind::Malformed => changed(call, |it| [b"}{", &*it].concat().into()).await,
            FaultKind::Corrupt => {
                changed(call, |it| reply::with_answer(call, &it, corrupt)).await;
            }
            FaultKind::Empty => {
                changed(call, |it| reply::saying(call, &it, &json!([]), "")).await;
            }
            FaultKind::Oversized => {
                let text = json!([{ "type": "text", "text": MARK }]);
                let swell = |it| swell(&reply::saying(call, &it, &text, MARK), settings.bytes);
                changed(call, swell).await;
            }
            FaultKind::WrongId => {
                let other = reply::other_id(call.id());
                changed(call, |it| reply::with_id(&it, &other)).await;
            }
            FaultKind::Truncated => {
                if let Some(reply) = call.execute().await {
                    call.reply_cut(reply.slice(..reply.len() / 2)).await;
                }
            }
            FaultKind::Duplicate => {
                if let Some(reply) = call.execute().await {
                    call.send(reply.clone()).await;
                    call.reply(reply).await;
                }
            }
            FaultKind::Noise => {
                if let Some(reply) = call.execute().await {
                    for line in NOISE {
                        call.send(Bytes::from_static(line)).await;
                    }
                    call.reply(reply).await;
                }
            }
            FaultKind::Reorder => self.reorder(call).await,
            FaultKind::ProgressForever => tokio::select! {
                () = tell_progress(call, settings.every_ms) => {}
                () = hang(call, name) => {}
            },
            FaultKind::Disconnect => call.disconnect().await,
            FaultKind::Crash => call.crash().await,
        }
    }

    /// How late the answer of a call with this draw is, where that is what the fault is about.
    pub fn delay(&self, draw: u64) -> Option<Duration> {
        let settings = &self.settings;
        match self.kind {
            FaultKind::Slow | FaultKind::ReplyAfterCancel => Some(millis(settings.delay_ms)),
            FaultKind::Jitter => {
                let choices = settings.max_ms.saturating_sub(settings.min_ms);
                let drawn = draw % choices.saturating_add(1);
                Some(millis(settings.min_ms.saturating_add(drawn)))
            }
            _ => None,
        }
    }

    /// How long it holds up a call with this draw at most, where it lets the server answer.
    pub fn held(&self, draw: u64) -> Option<Duration> {
        match self.kind {
            FaultKind::Reorder => Some(millis(self.settings.hold_ms).saturating_add(GAP)),
            _ => self.delay(draw),
        }
    }

    /// How many calls the fault strikes before it is over; `None` for all.
    pub fn strikes_max(&self) -> Option<u64> {
        (self.kind == FaultKind::RecoverAfter).then_some(self.settings.failures)
    }

    /// The second caller is served first.
    async fn reorder(&self, call: &dyn FaultedCall) {
        let Some(reply) = call.execute().await else {
            return;
        };
        let held = lock(&self.held).take();
        if let Some(held) = held.filter(|held| !held.is_closed()) {
            call.reply(reply).await;
            // It may just have stopped waiting.
            let _ = held.send(());
            return;
        }
        let (sender, overtaken) = oneshot::channel();
        *lock(&self.held) = Some(sender);
        let patience = millis(self.settings.hold_ms);
        if let Ok(Ok(())) = tokio::time::timeout(patience, overtaken).await {
            // Over HTTP the two travel on connections of their own, and could meet again.
            sleep(GAP).await;
        }
        call.reply(reply).await;
    }
}

fn millis(count: u64) -> Duration {
    Duration::from_millis(count)
}

/// Progress without an end, for those who want it.
async fn tell_progress(call: &dyn FaultedCall, every_ms: u64) {
    let Some(token) = call.progress_token() else {
        return std::future::pending().await;
    };
    for step in 1.. {
        call.send(reply::progress(token, step)).await;
        sleep(millis(every_ms.max(1))).await;
    }
}

/// The message with a text of this length in the place of the mark: written once, for it may be large, and other calls
/// wait while it is made.
fn swell(marked: &Bytes, length: usize) -> Bytes {
    let Some(place) = memchr::memmem::find(marked, MARK.as_bytes()) else {
        return marked.clone();
    };
    let (before, rest) = marked.split_at(place);
    let mut huge = Vec::with_capacity(marked.len().saturating_add(length));
    huge.extend_from_slice(before);
    huge.resize(place.saturating_add(length), b'x');
    huge.extend_from_slice(rest.get(MARK.len()..).unwrap_or_default());
    huge.into()
}

/// A valid answer that says something else than the tool did.
fn corrupt(name: &str, answer: &mut Map<String, Value>) {
    // The code of an error tells what to do about it, so it stays.
    let altered: &[&str] = match name {
        "result" => &["structuredContent"],
        _ => &["message", "data"],
    };
    for name in altered {
        answer.get_mut(*name).map(alter);
    }
    if name == "result" {
        let contents = answer.get_mut("content").and_then(Value::as_array_mut);
        for content in contents.into_iter().flatten() {
            corrupt_block(content);
            content.get_mut("resource").map(corrupt_block);
        }
    }
}

fn corrupt_block(block: &mut Value) {
    block.get_mut("text").map(alter);
    for name in ["data", "blob"] {
        // Another text that is Base64 too: all six bits of its first character count.
        if let Some(Value::String(base64)) = block.get_mut(name)
            && base64.starts_with(|character: char| character.is_ascii())
        {
            let first = if base64.starts_with('A') { "B" } else { "A" };
            base64.replace_range(..1, first);
        }
    }
}

/// Changes every value, and no type.
fn alter(value: &mut Value) {
    match value {
        Value::Null => {}
        Value::Bool(truth) => *truth = !*truth,
        Value::Number(number) => {
            let whole = number.as_i64().map(|whole| whole.wrapping_add(1).into());
            let broken = || Number::from_f64(number.as_f64()? + 1.0);
            if let Some(other) = whole.or_else(broken) {
                *number = other;
            }
        }
        Value::String(text) => {
            let reversed: String = text.chars().rev().collect();
            *text = if reversed == *text {
                format!("{text}?")
            } else {
                reversed
            };
        }
        Value::Array(values) => values.iter_mut().for_each(alter),
        Value::Object(fields) => fields.values_mut().for_each(alter),
    }
}
