//! The page in a real browser: that it renders, fits a phone, and that nothing a server chose does
//! anything. Skipped where there is no Chromium, never in CI.

use mcprove_settings::message::sentence;
use std::fmt::Write as _;

use harness::browser::{PLANTED, browser, open, opened_up};
use mcprove_document::html::POLICY;

use super::samples;
use super::tests::html;
use crate::run::Report;

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
        report.meaning.push(sentence!("`{name}` is slow."));
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
        verdict.sentence = name.into();
        verdict.hint = Some(name.to_owned().into());
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
    for page in [opened_up(&page, POLICY), page] {
        let (dom, console) = open(browser, &page, 800);
        assert_eq!(console, "");
        assert!(dom.contains("<title>FAIL: "), "{dom}");
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
                html(&report).replace('&', "&amp;").replace('"', "&quot;")
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
