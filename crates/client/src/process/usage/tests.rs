//! The meter on real processes.

use std::io::{BufRead as _, BufReader};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use super::*;

/// Long enough for anything on a busy machine.
const DEADLINE: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(5);

/// A process that dies with the test, and so does what it started.
struct Running(Child);

impl Running {
    fn shell(script: &str) -> Self {
        let mut command = Command::new("sh");
        command
            .args(["-c", script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .process_group(0);
        Self(command.spawn().unwrap())
    }

    fn pid(&self) -> u32 {
        self.0.id()
    }

    fn meter(&self) -> UsageMeter {
        UsageMeter::of_processes(&[self.pid()])
    }

    /// Waits for a line on its stdout.
    fn wait_for_line(&mut self) -> String {
        let mut line = String::new();
        let stdout = self.0.stdout.as_mut().unwrap();
        BufReader::new(stdout).read_line(&mut line).unwrap();
        line.trim().to_owned()
    }

    fn kill(&self) {
        let _ = kill_process_group(Pid::from_child(&self.0), Signal::KILL);
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill();
        let _ = self.0.wait();
    }
}

/// Waits until `condition` gives something.
fn eventually<T>(what: &str, mut condition: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(value) = condition() {
            return value;
        }
        assert!(start.elapsed() < DEADLINE, "never: {what}");
        thread::sleep(PAUSE);
    }
}

/// Whether a test that needs Python can go on; says so if not.
fn has_python() -> bool {
    let found = Command::new("python3").arg("--version").output().is_ok();
    if !found {
        eprintln!("skipped: needs python3");
    }
    found
}

#[test]
fn we_can_measure_ourselves() {
    let mut meter = UsageMeter::of_processes(&[std::process::id()]);
    let sample = meter.sample().unwrap();
    assert!(sample.rss_mb > 1.0, "{sample:?}");
    assert!(sample.processes >= 1, "{sample:?}");
    assert!(sample.cpu_pct.abs() < f64::EPSILON, "{sample:?}");
    if cfg!(target_os = "linux") {
        assert!(sample.threads.is_some_and(|threads| threads >= 1));
        assert!(
            sample
                .descriptors
                .is_some_and(|descriptors| descriptors >= 3)
        );
    }
}

#[test]
fn memory_of_a_child_counts() {
    if !has_python() {
        return;
    }
    let mut server = Running::shell(
        "python3 -c 'memory = b\"x\" * 64_000_000; print(1, flush=True); open(0).read()'; :",
    );
    assert_eq!(server.wait_for_line(), "1");
    let sample = server.meter().sample().unwrap();
    assert_eq!(sample.processes, 2, "the shell, and python");
    assert!((64.0..1000.0).contains(&sample.rss_mb), "{sample:?}");
}

#[test]
fn grandchildren_count() {
    let mut server = Running::shell("sh -c 'sh -c \"echo 1; read line; :\"; :'; :");
    server.wait_for_line();
    let usage = server.meter().sample().unwrap();
    assert_eq!(usage.processes, 3);
    if cfg!(target_os = "linux") {
        assert!(usage.threads >= Some(3) && usage.descriptors >= Some(9));
    }
}

#[test]
fn the_dead_are_not_measured() {
    let mut server = Running::shell("read line");
    let mut meter = server.meter();
    assert_eq!(meter.sample().unwrap().processes, 1);
    server.kill();
    // Nobody waited for it yet; that is dead enough.
    eventually("the end of the process", || {
        meter.sample().is_none().then_some(())
    });
    server.0.wait().unwrap();
    assert_eq!(meter.sample(), None);
    assert_eq!(server.meter().sample(), None);
}

#[test]
fn a_busy_child_shows() {
    let server = Running::shell("sh -c 'while :; do :; done'; :");
    let mut meter = server.meter();
    assert!(meter.sample().unwrap().cpu_pct.abs() < f64::EPSILON);
    eventually("a busy child", || {
        meter.sample().filter(|sample| sample.cpu_pct > 0.0)
    });
}

#[test]
fn the_total_never_goes_backwards_and_counts_nothing_twice() {
    let busy = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done";
    let begin = Instant::now();
    // One process is busy at any time: each is waited for by its parent, which had one before it.
    let mut server = Running::shell(&format!(
        "for round in 1 2 3; do sh -c '{busy}; sh -c \"{busy}\"; :'; done; echo 1; read line"
    ));
    let mut meter = server.meter();
    let done = AtomicBool::new(false);
    let (mut last, mut processes_max) = (Duration::ZERO, 0);
    thread::scope(|scope| {
        scope.spawn(|| {
            server.wait_for_line();
            done.store(true, Ordering::Release);
        });
        loop {
            let is_last = done.load(Ordering::Acquire);
            let usage = meter.sample().unwrap();
            let total = meter.family.cpu_time;
            assert!(total >= last, "{total:?} after {last:?}");
            last = total;
            processes_max = processes_max.max(usage.processes);
            if is_last {
                break;
            }
            thread::sleep(PAUSE);
        }
    });
    assert!(last > Duration::ZERO && processes_max > 1);
    // The clock of CPU time is coarse.
    let limit = begin.elapsed() + Duration::from_millis(100);
    assert!(last <= limit, "{last:?} of {limit:?}");

    server.kill();
    server.0.wait().unwrap();
    assert_eq!(meter.sample(), None);
    let next = Running::shell("read line");
    meter.set_roots(&[server.pid(), next.pid()]);
    let usage = meter.sample().unwrap();
    assert_eq!(usage.processes, 1);
    assert!(meter.family.cpu_time >= last);
}

#[cfg(target_os = "linux")]
#[test]
fn who_listens_is_found() {
    use std::net::TcpListener;

    let own = Some(std::process::id());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    assert_eq!(process_listening_on(address), own);
    let mapped = format!("[::ffff:127.0.0.1]:{}", address.port());
    assert_eq!(process_listening_on(mapped.parse().unwrap()), own);
    assert_eq!(
        process_listening_on(SocketAddr::new([192, 0, 2, 1].into(), address.port())),
        None
    );
    drop(listener);
    // A child that another test is starting may have it a moment longer.
    eventually("a free port", || {
        process_listening_on(address).is_none().then_some(())
    });
}

#[cfg(target_os = "linux")]
#[test]
fn of_those_who_share_a_socket_the_first_is_found() {
    if !has_python() {
        return;
    }
    let mut server = Running::shell(
        "exec python3 -c 'import os, socket
listener = socket.create_server((\"127.0.0.1\", 0))
if os.fork() == 0: print(listener.getsockname()[1], flush=True)
open(0).read()'",
    );
    let port = server.wait_for_line().parse::<u16>().unwrap();
    let address = SocketAddr::new([127, 0, 0, 1].into(), port);
    assert_eq!(process_listening_on(address), Some(server.pid()));
    assert_eq!(server.meter().sample().unwrap().processes, 2);
}

/// More than the clocks of any system need to move on.
const WORK: Duration = Duration::from_millis(20);

#[test]
fn work_costs_time_of_the_thread_and_of_the_program() {
    let worker = std::thread::spawn(|| {
        let program_before = process_cpu_time().unwrap();
        let start = thread_cpu_time().unwrap();
        while thread_cpu_time().unwrap() < start + WORK {
            std::hint::spin_loop();
        }
        assert!(process_cpu_time().unwrap() >= program_before + WORK / 2);
    });
    worker.join().unwrap();
}
