//! The page in a real browser: that it renders, fits a phone, and that nothing a server chose does
//! anything. Skipped where there is no Chromium, never in CI.

use std::io::Read;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use harness::require;

use super::*;
use crate::report::suite::samples as suite_samples;
use crate::report::{Reporter, Style, samples};

/// How long the browser may take. Loaded machines are slow.
const DEADLINE: Duration = Duration::from_mins(2);
const NAMES: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// What a server calls itself when it means harm: each would change the title if it ran.
const PLANTED: [&str; 4] = [
    "<script>document.title = 'owned'</script>",
    "\"><img src=x onerror=\"document.title = 'owned'\">",
    "' onmouseover='document.title = 1' x='",
    "</title></style><svg onload=\"document.title = 'owned'\">",
];

fn browser() -> Option<&'static str> {
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
fn open(browser: &str, page: &str, width: u32) -> (String, String) {
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
fn opened_up(page: &str) -> String {
    let open = page.replacen(POLICY, "", 1);
    assert_ne!(open, page);
    open
}

/// The number of planted texts is small, the number of places where they show is not.
fn hostile() -> Report {
    let mut report = samples::failing();
    let [script, image, handler, svg] = PLANTED.map(str::to_owned);
    report.server_info.target.clone_from(&script);
    report.server_info.name.clone_from(&image);
    report.server_info.version.clone_from(&handler);
    report.run_id.clone_from(&svg);
    for name in PLANTED {
        let tool = report.tools["get_market_data"].clone();
        report.tools.insert(name.to_owned(), tool);
        report.meaning.push(format!("`{name}` is slow."));
        report.isolation.examples.push(name.to_owned());
        report.coverage.missing.push(name.to_owned());
    }
    for (call, name) in report.slowest.iter_mut().zip(PLANTED) {
        name.clone_into(&mut call.tool);
    }
    for (message, name) in report.errors.examples.values_mut().zip(PLANTED) {
        name.clone_into(message);
    }
    for (violation, name) in report.threshold_violations.iter_mut().zip(PLANTED) {
        violation.tool = Some(name.to_owned());
    }
    for (verdict, name) in report.verdicts.iter_mut().zip(PLANTED) {
        name.clone_into(&mut verdict.sentence);
        verdict.hint = Some(name.to_owned());
    }
    for (phase, name) in report.phases.iter_mut().zip(PLANTED) {
        name.clone_into(&mut phase.name);
    }
    report
}

#[test]
fn a_control_page_shows_that_harm_would_be_seen() {
    let Some(browser) = browser() else { return };
    let page = format!("<!DOCTYPE html><title>t</title><body>{}</body>", PLANTED[0]);
    let (dom, _) = open(browser, &page, 400);
    assert!(dom.contains("<title>owned</title>"), "{dom}");
    let page = "<!DOCTYPE html><body><script>nothing.here</script></body>";
    let (_, console) = open(browser, page, 400);
    assert!(console.contains("nothing is not defined"), "{console}");
}

#[test]
fn every_report_renders_without_a_word_on_the_console() {
    let Some(browser) = browser() else { return };
    for (name, report) in [
        ("failing", samples::failing()),
        ("ramped", samples::ramped()),
        ("deadlocked", samples::deadlocked()),
    ] {
        let page = html(&report);
        let (dom, console) = open(browser, &page, 1200);
        assert_eq!(console, "", "{name}");
        // What the parser had to repair would be missing or doubled.
        for tag in [
            "<section>",
            "<svg ",
            "<table",
            "<figure",
            "<td ",
            "<circle ",
            "</main>",
        ] {
            let (written, read) = (page.matches(tag).count(), dom.matches(tag).count());
            assert_eq!(written, read, "{name}: {tag}");
        }
    }
}

#[test]
fn what_a_server_chose_stays_a_text() {
    let Some(browser) = browser() else { return };
    let page = html(&hostile());
    for page in [opened_up(&page), page] {
        let (dom, console) = open(browser, &page, 800);
        assert_eq!(console, "");
        assert!(dom.contains("<title>FAIL: Sustained"), "{dom}");
        for tag in ["<img", "onload=\"", "onerror=\"", "onmouseover="] {
            let as_attribute = dom.match_indices(tag).any(|(place, _)| {
                // Within an element, not within a text.
                let before = dom.get(..place).unwrap_or_default();
                before.rfind('<') > before.rfind('>') || tag == "<img"
            });
            assert!(!as_attribute, "{tag}");
        }
    }
}

#[test]
fn the_page_of_a_suite_renders_and_what_a_server_said_stays_a_text() {
    let Some(browser) = browser() else { return };
    let render = |report| {
        let (_, reporter) = Reporter::find("html").unwrap();
        reporter.render(&report, std::path::Path::new("runs"), Style::plain(80))
    };
    let planted = render(suite_samples::planted(&PLANTED.concat()));
    for page in [render(suite_samples::mixed()), opened_up(&planted), planted] {
        let (dom, console) = open(browser, &page, 800);
        assert_eq!(console, "");
        assert!(dom.contains("<title>ERROR: 5 tests"), "{dom}");
        for tag in ["<section>", "<table", "<td ", "<li>", "</main>"] {
            let (written, read) = (page.matches(tag).count(), dom.matches(tag).count());
            assert_eq!(written, read, "{tag}");
        }
    }
}

/// A window of a headless browser is never narrower than 500, a frame in it is.
#[test]
fn it_fits_a_phone_and_a_desk() {
    let Some(browser) = browser() else { return };
    let mut page = String::from("<!DOCTYPE html><body>");
    let mut expected = Vec::new();
    for (name, report) in samples::all() {
        for width in [360, 400, 1200] {
            let _ = write!(
                page,
                "<iframe id=\"{name}\" width=\"{width}\" style=\"border:0\" srcdoc=\"{}\"></iframe>",
                escape(&html(&report))
            );
            expected.push(format!("{name} {width} {width}"));
        }
    }
    page.push_str(
        "<script>onload = () => document.body.dataset.sizes = [...document.querySelectorAll('iframe')]\
         .map(frame => [frame.id, frame.clientWidth, frame.contentDocument.documentElement.scrollWidth].join(' '))\
         .join('|')</script></body>",
    );
    let (dom, _) = open(browser, &page, 1400);
    let sizes = dom
        .split_once("data-sizes=\"")
        .and_then(|(_, rest)| rest.split_once('"'))
        .map_or_else(String::new, |(sizes, _)| sizes.to_owned());
    assert_eq!(sizes.split('|').collect::<Vec<_>>(), expected);
}
