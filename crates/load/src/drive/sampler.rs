//! Looking at the server's processes, and at the machine, while a run lasts: a thread of its own, so that a busy
//! runtime does not delay it and it delays no call.

use std::thread::JoinHandle;

use crate::prelude::*;
use mcprove_client::process::{UsageMeter, UsageSample, process_listening_on};
use mcprove_score::leak::LeakSettings;
use mcprove_score::resource_leak::{self, FULL_SHARE, Resource};

/// How often the thread looks whether it is to end.
const TICK: Duration = Duration::from_millis(20);

/// How often the thread looks while an idle server is watched.
const WATCH_INTERVAL: Duration = Duration::from_millis(500);

/// A process of the server had used up its descriptors: open ones as a share of its limit.
#[stored(Copy)]
pub struct FullDescriptorsFact {
    pub share: f64,
}

impl Fact for FullDescriptorsFact {
    const NAME: &'static str = "full_descriptors";
}

/// The idle server was watched until now, because something had grown in the load.
#[stored(Copy)]
pub struct IdleWatchFact {}

impl Fact for IdleWatchFact {
    const NAME: &'static str = "idle_watch";
}

/// What the server's processes hold of one resource.
#[derive(Debug, Clone, Copy)]
struct Held {
    first: f64,
    most: f64,
    now: f64,
}

/// What the server's processes held at first and hold now, for whoever decides how long to look.
#[derive(Debug, Default)]
pub struct HeldGauge {
    resources: Mutex<BTreeMap<&'static str, Held>>,
    is_watched: AtomicBool,
}

impl HeldGauge {
    /// Notes what they hold now; of a load that only begins nothing is held against them.
    fn note(&self, usage: &UsageSample, is_beginning: bool) {
        let found = [
            (Resource::Descriptors, usage.descriptors),
            (Resource::Threads, usage.threads),
            (Resource::Processes, Some(usage.processes)),
        ];
        let mut resources = lock(&self.resources);
        for (resource, value) in found {
            let Some(now) = value.map(f64::from) else {
                continue;
            };
            let (first, most) = (now, now);
            let held = resources.entry(resource.detector());
            let held = held.or_insert(Held { first, most, now });
            if is_beginning {
                held.first = now;
                held.most = now;
            }
            held.now = now;
            held.most = held.most.max(now);
        }
    }

    /// Whether something grew by so much that it may be a leak, more than so many calls in flight hold, and is still there.
    pub fn is_kept(&self, in_flight: u32) -> bool {
        lock(&self.resources).values().any(|held| {
            resource_leak::may_be_kept(held.first, held.most)
                && held.most - held.first > f64::from(in_flight)
                && !resource_leak::is_released(held.first, held.most, held.now)
        })
    }

    /// The server is idle from now on, and looked at more often.
    pub fn watch(&self) {
        self.is_watched.store(true, Ordering::Relaxed);
    }
}

/// A sampler at work; ends when dropped.
pub struct Sampler {
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Sampler {
    /// Samples the processes of a run every `interval`, and once more at the end.
    pub fn start(context: &RunContext, interval: Duration) -> RunResult<Self> {
        let is_over = Arc::new(AtomicBool::new(false));
        let ending = Arc::clone(&is_over);
        let context = context.for_thread();
        let thread = spawn_thread("mcprove-sampler", move || {
            sample_until(&context, interval, &ending);
        })?;
        let thread = Some(thread);
        Ok(Self { is_over, thread })
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Looks at the processes of the server of a run, whichever they are at the moment.
pub struct ServerMeter {
    /// The one that serves at an address.
    listening: Option<u32>,
    meter: UsageMeter,
}

impl ServerMeter {
    pub fn of(context: &RunContext) -> Self {
        Self {
            listening: context
                .server
                .local_address()
                .and_then(process_listening_on),
            meter: UsageMeter::of_processes(&[]),
        }
    }

    /// Looks which processes there are; whether there are any.
    pub fn find_processes(&mut self, context: &RunContext) -> bool {
        let mut roots: Vec<u32> = lock(&context.processes).values().copied().collect();
        roots.extend(self.listening);
        self.meter.set_roots(&roots);
        !roots.is_empty()
    }

    /// What they use.
    pub fn sample(&mut self) -> Option<UsageSample> {
        // A process that is just ending has no memory any more.
        self.meter.sample().filter(|usage| usage.rss_mb > 0.0)
    }

    /// How long its threads, and ours, have waited for a processor.
    pub fn waited(&mut self) -> Option<Duration> {
        self.meter.waited()
    }
}

/// How long a load begins, as far as that is known: with a number of calls it may be over soon.
fn warmup(context: &RunContext) -> Duration {
    let load = &context.scenario.load;
    let duration = context.scenario.kind.duration();
    let duration = duration.filter(|_| load.calls.is_none());
    let settings = LeakSettings {
        warmup: (!load.warmup.is_zero()).then_some(load.warmup),
        ..LeakSettings::default()
    };
    duration.map_or(Duration::ZERO, |duration| settings.warmup_of(duration))
}

fn sample_until(context: &RunContext, interval: Duration, is_over: &AtomicBool) {
    let mut meter = ServerMeter::of(context);
    let mut machine = MachineWatch::of(context);
    let mut due = Instant::now();
    let mut was_full = false;
    let warmup = warmup(context);
    loop {
        let is_last = is_over.load(Ordering::Relaxed);
        machine.look(context, is_last);
        let held = &context.gauges.held;
        let is_watched = held.is_watched.load(Ordering::Relaxed);
        let interval = if is_watched {
            interval.min(WATCH_INTERVAL)
        } else {
            interval
        };
        if is_watched {
            due = due.min(Instant::now() + interval);
        }
        if Instant::now() >= due || is_last {
            let has_server = meter.find_processes(context);
            if !has_server && !is_last {
                // Nothing runs yet: the first look is due as soon as something does.
                machine.sleep(TICK.min(interval));
                continue;
            }
            if let Some(usage) = meter.sample() {
                context.recorder.record(
                    Instant::now(),
                    EventKind::ProcessSample {
                        rss_mb: usage.rss_mb,
                        cpu_pct: usage.cpu_pct,
                        threads: usage.threads,
                        descriptors: usage.descriptors,
                        processes: usage.processes,
                    },
                );
                held.note(&usage, context.time(Instant::now()) < warmup);
                let full = usage.descriptor_share.filter(|share| *share >= FULL_SHARE);
                if let Some(share) = full.filter(|_| !was_full) {
                    was_full = true;
                    context.fact("", &FullDescriptorsFact { share });
                }
                context.recorder.merge();
            }
            due = (due + interval).max(Instant::now());
        }
        if is_last {
            return;
        }
        machine.sleep(TICK.min(interval));
    }
}
