//! The processes of the system as Linux tells of them, in `/proc`.

use std::fs;
use std::os::unix::fs::DirEntryExt as _;

use super::Identity;
use crate::prelude::*;

/// More than `/proc/PID/stat` ever holds: 52 numbers and a name of at most 64 bytes.
const STAT_BYTES_MAX: usize = 2048;
/// The first of its fields behind the name and the state, as `man proc` counts them.
const FIRST_NUMBER: usize = 4;

/// What `/proc/PID/stat` tells of a process.
pub struct Stat {
    pub identity: Identity,
    pub parent: u32,
    /// It ended, and its parent did not take notice yet.
    pub zombie: bool,
    numbers: Vec<u64>,
}

impl Stat {
    /// Of the process that has this id now.
    pub fn read(pid: u32) -> Option<Self> {
        let mut buffer = [0; STAT_BYTES_MAX];
        let mut file = File::open(format!("/proc/{pid}/stat")).ok()?;
        // The kernel gives the whole line at once.
        let size = file.read(&mut buffer).ok()?;
        Self::parse(pid, buffer.get(..size)?)
    }

    /// Reads `PID (NAME) STATE PARENT …`, where the name may hold anything.
    pub fn parse(pid: u32, line: &[u8]) -> Option<Self> {
        let name_end = memchr::memrchr(b')', line)?;
        let mut fields = std::str::from_utf8(line.get(name_end + 1..)?)
            .ok()?
            .split_ascii_whitespace();
        let mut stat = Self {
            identity: Identity { pid, start: 0 },
            parent: 0,
            zombie: matches!(fields.next()?, "Z" | "X" | "x"),
            numbers: fields
                .map(|field| field.parse().unwrap_or_default())
                .collect(),
        };
        stat.parent = stat.field(4)?;
        stat.identity.start = stat.field(22)?;
        Some(stat)
    }

    /// A field by its number in `man proc`.
    pub fn field<T: TryFrom<u64>>(&self, number: usize) -> Option<T> {
        let field = self.numbers.get(number.checked_sub(FIRST_NUMBER)?)?;
        T::try_from(*field).ok()
    }
}

/// The ids and inodes of all processes that we may see.
pub fn processes() -> impl Iterator<Item = (u32, u64)> {
    fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let pid = entry.file_name().to_str()?.parse().ok()?;
            Some((pid, entry.ino()))
        })
}
