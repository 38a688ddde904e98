//! Secrets taken out of the files of a load. Reports are `masking`'s.

use std::collections::BTreeSet;
use std::io::{self, BufRead, Read as _, Write as _};
use std::path::Path;

use crate::agent::cassette::Redactor;

/// The most of a line that is held at once.
const LINE_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Takes secrets out of every file of a folder. What stands in their place is as long, so that nothing
/// that was counted changes.
pub(super) fn redact_files(folder: &Path, secrets: &BTreeSet<String>) -> io::Result<()> {
    let redactor = Redactor::new(secrets.iter().cloned());
    if redactor.forms().is_empty() {
        return Ok(());
    }
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_file() {
            redact_file(&path, redactor.forms())?;
        }
    }
    Ok(())
}

fn redact_file(path: &Path, forms: &[String]) -> io::Result<()> {
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
        for form in forms {
            is_changed |= mask(&mut line, form.as_bytes());
        }
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

/// Masks what is looked for. A number may stand for itself in JSON, so it becomes another number, where it
/// is a number of its own.
fn mask(line: &mut [u8], form: &[u8]) -> bool {
    let is_number = form.iter().all(u8::is_ascii_digit);
    let is_part_of_number =
        |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_digit() || *byte == b'.');
    let mut is_found = false;
    let found: Vec<usize> = memchr::memmem::find_iter(line, form).collect();
    for begin in found {
        let end = begin + form.len();
        let before = begin.checked_sub(1).and_then(|place| line.get(place));
        if is_number && (is_part_of_number(before) || is_part_of_number(line.get(end))) {
            continue;
        }
        if let Some(part) = line.get_mut(begin..end) {
            part.fill(if is_number { b'1' } else { b'*' });
            is_found = true;
        }
    }
    is_found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn no_file_of_a_folder_has_them_and_sizes_stay() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trace.jsonl");
        let secret = "hunter2\"hunter2";
        let inner = json!({ "text": secret }).to_string();
        let text = format!(
            "{}\nplain {secret} warn 12345678 123456789 1.12345678 aHVudGVyMiJodW50ZXIy\n",
            json!({ "inner": inner })
        );
        std::fs::write(&path, &text).unwrap();
        let secrets = [secret, "warn", "12345678"].map(str::to_owned).into();
        redact_files(folder.path(), &secrets).unwrap();
        let after = std::fs::read_to_string(&path).unwrap();
        assert!(!after.contains("hunter2"), "{after}");
        let rest = "warn 11111111 123456789 1.12345678 ********************";
        assert!(after.contains(rest), "{after}");
        assert_eq!(after.len(), text.len());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
