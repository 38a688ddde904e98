//! wrk, which everybody knows.

use std::process::Command;

use super::PARAMS;
use crate::Outcome;

/// Microseconds of CPU per request of wrk with 64 connections.
pub fn wrk(url: &str) -> Outcome<f64> {
    eprintln!("reference: wrk");
    let folder = tempfile::tempdir()?;
    let script = folder.path().join("call.lua");
    let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{PARAMS}}}"#);
    std::fs::write(
        &script,
        format!(
            "wrk.method = 'POST'\nwrk.body = '{body}'\nwrk.headers['Content-Type'] = 'application/json'\nwrk.headers['Accept'] = 'application/json, text/event-stream'\nwrk.headers['MCP-Protocol-Version'] = '2026-07-28'\nwrk.headers['Mcp-Method'] = 'tools/call'\nwrk.headers['Mcp-Name'] = 'echo'\n"
        ),
    )?;
    let command = format!(
        "TIMEFORMAT='cpu %U %S'; time wrk -t1 -c64 -d2s -s {} {url}",
        script.display()
    );
    let output = Command::new("bash").args(["-c", &command]).output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if text.contains("Non-2xx") {
        return Err(format!("wrk was refused: {text}").into());
    }
    let requests: f64 = text
        .lines()
        .find_map(|line| {
            line.trim()
                .split_once(" requests in ")
                .map(|(count, _)| count.trim().parse())
        })
        .ok_or("wrk printed no count")??;
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    let cpu = errors
        .lines()
        .find_map(|line| line.strip_prefix("cpu "))
        .ok_or("bash printed no time")?;
    let seconds: f64 = cpu
        .split_whitespace()
        .filter_map(|part| part.parse::<f64>().ok())
        .sum();
    Ok(seconds * 1e6 / requests)
}
