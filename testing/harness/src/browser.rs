//! Pages in a real browser.

#![allow(
    clippy::unwrap_used,
    clippy::missing_panics_doc,
    reason = "only tests use it"
)]

use std::io::Read;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::require;

/// How long the browser may take. Loaded machines are slow.
const DEADLINE: Duration = Duration::from_mins(2);
const NAMES: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// What a server calls itself when it means harm: each would change the title if it ran.
pub const PLANTED: [&str; 4] = [
    "<script>document.title = 'owned'</script>",
    "\"><img src=x onerror=\"document.title = 'owned'\">",
    "' onmouseover='document.title = 1' x='",
    "</title></style><svg onload=\"document.title = 'owned'\">",
];

/// The browser of this machine; where none is, the test is skipped, never in CI.
pub fn browser() -> Option<&'static str> {
    let found = NAMES.into_iter().find(|name| {
        Command::new(name)
            .arg("--version")
            .stdin(Stdio::null())
            .output()
            .is_ok_and(|output| output.status.success())
    });
    require("Chromium", found.is_some());
    found
}

/// What the browser makes of a page, `width` wide, and what it says on its console.
pub fn open(browser: &str, page: &str, width: u32) -> (String, String) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("report.html");
    std::fs::write(&file, page).unwrap();
    let mut child = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu"])
        .args([
            "--no-first-run",
            "--disable-dev-shm-usage",
            "--hide-scrollbars",
        ])
        .args(["--enable-logging=stderr", "--log-level=0"])
        .arg(format!(
            "--user-data-dir={}",
            folder.path().join("profile").display()
        ))
        .arg(format!("--window-size={width},1000"))
        .arg("--dump-dom")
        .arg(format!("file://{}", file.display()))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let read = |mut pipe: Box<dyn Read + Send>| {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            pipe.read_to_end(&mut bytes).unwrap();
            String::from_utf8_lossy(&bytes).into_owned()
        })
    };
    let dom = read(Box::new(child.stdout.take().unwrap()));
    let log = read(Box::new(child.stderr.take().unwrap()));
    let deadline = Instant::now() + DEADLINE;
    while child.try_wait().unwrap().is_none() {
        if Instant::now() > deadline {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("the browser did not end");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let log = log.join().unwrap();
    let console: Vec<&str> = log
        .lines()
        .filter(|line| line.contains("CONSOLE"))
        .collect();
    (dom.join().unwrap(), console.join("\n"))
}

/// The page without what forbids it to run scripts, so that escaping is tested by itself.
pub fn opened_up(page: &str, policy: &str) -> String {
    let open = page.replacen(policy, "", 1);
    assert_ne!(open, page);
    open
}
