//! The floor: writes and reads alone, with no parsing and no matching.

use std::io::{Read, Write};
use std::process::{Command, Stdio};

use super::PARAMS;
use crate::{Outcome, cpu_us};

/// Microseconds of CPU per call when so many requests are written, and their answers read, at a
/// time.
pub fn raw_pipe(program: &str, batch_size: usize, calls: usize) -> Outcome<f64> {
    eprintln!("reference: raw pipe, {batch_size} at a time");
    let mut child = Command::new(program)
        .args(["fixture", "echo"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let (Some(mut input), Some(mut output)) = (child.stdin.take(), child.stdout.take()) else {
        return Err("no pipes".into());
    };
    let batch: Vec<u8> = (1..=batch_size)
        .flat_map(|id| {
            format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",\"params\":{PARAMS}}}\n")
                .into_bytes()
        })
        .collect();
    let mut buffer = vec![0; 256 * 1024];
    let before = cpu_us();
    for _ in 0..calls / batch_size {
        input.write_all(&batch)?;
        let mut answered = 0;
        while answered < batch_size {
            let count = output.read(&mut buffer)?;
            if count == 0 {
                return Err("the echo server ended".into());
            }
            answered += memchr::memchr_iter(b'\n', &buffer[..count]).count();
        }
    }
    let used = cpu_us() - before;
    drop(input);
    child.wait()?;
    #[allow(clippy::cast_precision_loss)]
    Ok(used / calls as f64)
}
