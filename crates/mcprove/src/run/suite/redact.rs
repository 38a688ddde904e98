//! Secrets taken out of the files of a load: those that are known, and what shows by itself that it is a key.
//! Reports are `masking`'s.

use std::io::{self, BufRead, Read as _, Write as _};
use std::path::Path;

use super::masking::mask_value;
use crate::agent::cassette::Redactor;
use crate::run::{Report, RunDirectory};

/// The most of a line that is held at once.
const LINE_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Takes secrets out of every file of a run. Reports for people are made anew, since they write texts in ways of
/// their own.
pub(super) fn redact_run(
    directory: &RunDirectory,
    report: Option<&Report>,
    redactor: &Redactor,
) -> io::Result<()> {
    redact_files(directory.path(), redactor)?;
    // Where a secret is a word of the format itself, what was done to the files has to do.
    let Some(report) = report.and_then(|report| redacted(report, redactor)) else {
        return Ok(());
    };
    if directory.markdown().exists() {
        directory.write_markdown(&report)?;
    }
    if directory.html().exists() {
        directory.write_html(&report)?;
    }
    Ok(())
}

fn redacted(report: &Report, redactor: &Redactor) -> Option<Report> {
    let mut value = serde_json::to_value(report).ok()?;
    mask_value(&mut value, redactor);
    serde_json::from_value(value).ok()
}

/// Blots secrets out in every file of a folder.
fn redact_files(folder: &Path, redactor: &Redactor) -> io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_file() {
            redact_file(&path, redactor)?;
        }
    }
    Ok(())
}

fn redact_file(path: &Path, redactor: &Redactor) -> io::Result<()> {
    let mut input = io::BufReader::new(std::fs::File::open(path)?);
    let mut fresh = path.as_os_str().to_owned();
    fresh.push(".redacted");
    let mut output = io::BufWriter::new(std::fs::File::create(&fresh)?);
    let mut is_changed = false;
    let mut line = Vec::new();
    while input
        .by_ref()
        .take(LINE_BYTES_MAX)
        .read_until(b'\n', &mut line)?
        > 0
    {
        let is_end = !line.ends_with(b"\n");
        is_changed |= redactor.blot(&mut line, is_end);
        output.write_all(&line)?;
        line.clear();
    }
    output.flush()?;
    drop((input, output));
    if is_changed {
        std::fs::rename(&fresh, path)
    } else {
        std::fs::remove_file(&fresh)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn no_file_of_a_folder_has_them_and_sizes_stay() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trace.jsonl");
        let secret = "hunter2\"<&'hunter2\nsecond line of it";
        let inner = json!({ "text": secret }).to_string();
        let html = "hunter2&quot;&lt;&amp;&#39;hunter2";
        let text = format!(
            "{}\nplain {secret} warn 12345678\n<p>{html}</p> hunter2\"<&…\n{{\"t\":\"\\nBearer abcdefgh1, sk-abc123def456\"}}\n",
            json!({ "inner": inner })
        );
        std::fs::write(&path, &text).unwrap();
        let secrets = [secret, "warn", "12345678"].map(str::to_owned);
        redact_files(folder.path(), &Redactor::new(secrets)).unwrap();
        let after = std::fs::read_to_string(&path).unwrap();
        assert!(
            !after.contains("hunter2") && !after.contains("second"),
            "{after}"
        );
        assert!(after.contains("warn 99999999"), "{after}");
        // Nobody knew these.
        let keys = "{\"t\":\"\\nBearer *********, ***************\"}\n";
        assert!(after.ends_with(keys), "{after}");
        assert_eq!(after.len(), text.len());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
