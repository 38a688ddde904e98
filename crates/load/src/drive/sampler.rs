//! Looking at the server's processes, and at the machine, while a run lasts: a thread of its own, so that a busy
//! runtime does not delay it and it delays no call.

use std::thread::JoinHandle;

use crate::prelude::*;
use mcprove_client::process::{UsageMeter, UsageSample, process_listening_on};

/// How often the thread looks whether it is to end.
const TICK: Duration = Duration::from_millis(20);

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

fn sample_until(context: &RunContext, interval: Duration, is_over: &AtomicBool) {
    let mut meter = ServerMeter::of(context);
    let mut machine = MachineWatch::of(context);
    let mut due = Instant::now();
    loop {
        let is_last = is_over.load(Ordering::Relaxed);
        machine.look(context, is_last);
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
