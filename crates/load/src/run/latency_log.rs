//! `latency.hlog`: the latency of each second as an `HdrHistogram` V2 interval log, which other
//! tools can read.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use hdrhistogram::Histogram;
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriter, IntervalLogWriterBuilder, Tag};
use mcprove_settings::private_file;

use super::error::at;

/// Maximum values in the log are in milliseconds; the histograms are in nanoseconds.
const NANOSECONDS_PER_MILLISECOND: f64 = 1e6;

/// The log of a run.
pub(super) struct LatencyLog {
    file: BufWriter<File>,
    path: PathBuf,
    /// Why it could not be written, from then on.
    failure: Option<io::Error>,
}

impl LatencyLog {
    /// Creates the file.
    pub fn create(path: &Path, started: SystemTime) -> io::Result<Self> {
        let mut file = BufWriter::new(private_file::create(path).map_err(at("create", path))?);
        let mut serializer = V2DeflateSerializer::new();
        IntervalLogWriterBuilder::new()
            .add_comment("latency of successful calls, in nanoseconds, by mcprove")
            .with_start_time(started)
            .with_base_time(started)
            .with_max_value_divisor(NANOSECONDS_PER_MILLISECOND)
            .begin_log_with(&mut file, &mut serializer)
            .map_err(into_io)?;
        let path = path.to_owned();
        Ok(Self {
            file,
            path,
            failure: None,
        })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Adds one interval, if anything happened in it. After the first that fails none is written: a gap would
    /// mislead.
    pub fn add(
        &mut self,
        from: Duration,
        duration: Duration,
        histogram: &Histogram<u64>,
    ) -> io::Result<()> {
        if let Some(failure) = self.failure.as_ref().filter(|_| !histogram.is_empty()) {
            return Err(io::Error::new(failure.kind(), failure.to_string()));
        }
        let written = self.write(from, duration, histogram);
        written.inspect_err(|error| {
            self.failure = Some(io::Error::new(error.kind(), error.to_string()));
        })
    }

    fn write(
        &mut self,
        from: Duration,
        duration: Duration,
        histogram: &Histogram<u64>,
    ) -> io::Result<()> {
        if histogram.is_empty() {
            return self.file.flush();
        }
        let mut serializer = V2DeflateSerializer::new();
        let mut builder = IntervalLogWriterBuilder::new();
        builder.with_max_value_divisor(NANOSECONDS_PER_MILLISECOND);
        let mut lines = Vec::new();
        let mut writer: IntervalLogWriter<'_, '_, _, _> = builder
            .begin_log_with(&mut lines, &mut serializer)
            .map_err(into_io)?;
        writer
            .write_histogram(histogram, from, duration, None::<Tag<'_>>)
            .map_err(into_io)?;
        // The builder writes a header each time; only the first of a log counts.
        let text = String::from_utf8_lossy(&lines);
        for line in text.lines().filter(|line| !is_header(line)) {
            writeln!(self.file, "{line}")?;
        }
        self.file.flush()
    }
}

fn is_header(line: &str) -> bool {
    line.starts_with('#') || line.starts_with('"')
}

fn into_io(error: impl std::fmt::Debug) -> io::Error {
    io::Error::other(format!("{error:?}"))
}
