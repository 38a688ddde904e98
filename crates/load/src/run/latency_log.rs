//! `latency.hlog`: the latency of each second as an `HdrHistogram` V2 interval log, which other
//! tools can read.

use std::fs::File;
use std::io::Write;

use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::IntervalLogWriterBuilder;

use crate::prelude::*;

/// Maximum values in the log are in milliseconds; the histograms are in nanoseconds.
const NANOSECONDS_PER_MILLISECOND: f64 = 1e6;

/// The log of a run.
pub struct LatencyLog {
    file: File,
    pub path: PathBuf,
    /// Why it could not be written, from then on.
    failure: Option<io::Error>,
}

impl LatencyLog {
    /// Creates the file.
    pub fn create(path: &Path, started: SystemTime) -> io::Result<Self> {
        let mut file = private_file::create(path).map_err(at("create", path))?;
        let mut header = Vec::new();
        IntervalLogWriterBuilder::new()
            .add_comment("latency of successful calls, in nanoseconds, by mcprove")
            .with_start_time(started)
            .with_base_time(started)
            .with_max_value_divisor(NANOSECONDS_PER_MILLISECOND)
            .begin_log_with(&mut header, &mut V2DeflateSerializer::new())
            .map_err(|error| io::Error::other(format!("{error:?}")))?;
        // A full disk is told with the first interval.
        let failure = file.write_all(&header).err();
        let path = path.to_owned();
        Ok(Self {
            file,
            path,
            failure,
        })
    }

    /// Adds one interval, if anything happened in it. After the first that fails none is written: a gap would
    /// mislead.
    pub fn add(
        &mut self,
        from: Duration,
        duration: Duration,
        histogram: &Histogram<u64>,
    ) -> io::Result<()> {
        if histogram.is_empty() {
            return Ok(());
        }
        if self.failure.is_none() {
            // The writer of the crate begins with a header each time.
            let [from, duration] = [from, duration].map(|time| time.as_secs_f64());
            let max = float(histogram.max()) / NANOSECONDS_PER_MILLISECOND;
            let histogram = encode_histogram(histogram);
            let line = format!("{from:.3},{duration:.3},{max:.3},{histogram}\n");
            self.failure = self.file.write_all(line.as_bytes()).err();
        }
        match &self.failure {
            None => Ok(()),
            Some(failure) => Err(io::Error::new(failure.kind(), failure.to_string())),
        }
    }
}
