//! Latency: a histogram and what is usually asked of it.

use crate::prelude::*;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::serialization::{
    Deserializer as Reader, Serializer as Writer, V2DeflateSerializer,
};
use mcprove_score::percentile;
use mcprove_trace::stream::new_histogram;

/// Latency of a group of calls. The percentiles are exact to three digits; in files those without
/// ten samples beyond them are null.
#[derive(Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(
    rename = "Latency",
    description = "Latency of a group of calls, in milliseconds."
)]
#[serde(into = "LatencyFile", try_from = "LatencyFile")]
#[non_exhaustive]
pub struct LatencyStats {
    /// Everything that was measured, in nanoseconds.
    pub histogram: Histogram<u64>,
    /// The median.
    pub p50: Duration,
    /// What 95 % of the calls keep to.
    pub p95: Duration,
    /// What 99 % of the calls keep to.
    pub p99: Duration,
    /// What 99.9 % of the calls keep to.
    pub p999: Duration,
    /// The fastest call.
    pub min: Duration,
    /// The slowest call.
    pub max: Duration,
    /// The mean.
    pub mean: Duration,
    /// The standard deviation.
    pub stddev: Duration,
    /// How many calls.
    pub count: u64,
}

/// Without the histogram, which has thousands of numbers.
impl std::fmt::Debug for LatencyStats {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("LatencyStats")
            .field("count", &self.count)
            .field("p50", &self.p50)
            .field("p99", &self.p99)
            .field("max", &self.max)
            .finish_non_exhaustive()
    }
}

impl LatencyStats {
    /// What `histogram`, of nanoseconds, amounts to.
    pub fn from_histogram(histogram: Histogram<u64>) -> Self {
        let at = |quantile| Duration::from_nanos(histogram.value_at_quantile(quantile));
        let real = |nanoseconds: f64| {
            Duration::try_from_secs_f64(nanoseconds / 1e9).unwrap_or(Duration::MAX)
        };
        Self {
            p50: at(0.5),
            p95: at(0.95),
            p99: at(0.99),
            p999: at(0.999),
            min: Duration::from_nanos(if histogram.is_empty() {
                0
            } else {
                histogram.min()
            }),
            max: Duration::from_nanos(histogram.max()),
            mean: real(histogram.mean()),
            stddev: real(histogram.stdev()),
            count: histogram.len(),
            histogram,
        }
    }

    /// The value at a quantile such as 0.99, or none without ten samples beyond it.
    pub fn supported(&self, quantile: f64) -> Option<Duration> {
        percentile::is_supported(self.count, quantile * 100.0)
            .then(|| Duration::from_nanos(self.histogram.value_at_quantile(quantile)))
    }

    /// The slowest call, if there was any.
    pub fn slowest(&self) -> Option<Duration> {
        (self.count > 0).then_some(self.max)
    }
}

impl Default for LatencyStats {
    fn default() -> Self {
        Self::from_histogram(new_histogram())
    }
}

/// Latency of a group of calls, in milliseconds.
#[derive(Serialize, Deserialize, JsonSchema)]
struct LatencyFile {
    /// The median, in milliseconds; null with fewer than ten calls beyond it.
    p50: Option<f64>,
    /// The 95th percentile; null with fewer than ten calls beyond it.
    p95: Option<f64>,
    /// The 99th percentile; null with fewer than ten calls beyond it.
    p99: Option<f64>,
    /// The 99.9th percentile; null with fewer than ten calls beyond it.
    p999: Option<f64>,
    /// The fastest call.
    min: Option<f64>,
    /// The slowest call.
    max: Option<f64>,
    /// The mean.
    mean: Option<f64>,
    /// The standard deviation.
    stddev: Option<f64>,
    /// How many calls.
    count: u64,
    /// All of it, in nanoseconds: `HdrHistogram` V2, compressed, in Base64; empty without calls.
    #[serde(default)]
    histogram: String,
}

impl From<LatencyStats> for LatencyFile {
    fn from(stats: LatencyStats) -> Self {
        let any = |duration: Duration| (stats.count > 0).then(|| as_milliseconds(duration));
        let supported = |quantile| stats.supported(quantile).map(as_milliseconds);
        Self {
            p50: supported(0.5),
            p95: supported(0.95),
            p99: supported(0.99),
            p999: supported(0.999),
            min: any(stats.min),
            max: any(stats.max),
            mean: any(stats.mean),
            stddev: any(stats.stddev),
            count: stats.count,
            histogram: encode_histogram(&stats.histogram),
        }
    }
}

impl TryFrom<LatencyFile> for LatencyStats {
    type Error = String;

    fn try_from(file: LatencyFile) -> Result<Self, Self::Error> {
        if file.histogram.is_empty() {
            return Ok(Self::default());
        }
        let bytes = STANDARD
            .decode(&file.histogram)
            .map_err(|error| format!("the histogram is not Base64: {error}"))?;
        let mut histogram = Reader::new()
            .deserialize(&mut bytes.as_slice())
            .map_err(|error| format!("the histogram cannot be read: {error:?}"))?;
        histogram.auto(true);
        Ok(Self::from_histogram(histogram))
    }
}

/// As `HdrHistogram` V2, compressed, in Base64; empty without values.
pub fn encode_histogram(histogram: &Histogram<u64>) -> String {
    if histogram.is_empty() {
        return String::new();
    }
    let mut bytes = Vec::new();
    // Writing to a vector cannot fail.
    let _ = V2DeflateSerializer::new().serialize(histogram, &mut bytes);
    STANDARD.encode(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_need_ten_samples_beyond_them() {
        let mut histogram = new_histogram();
        for milliseconds in 1..=100_u64 {
            histogram.record(milliseconds * 1_000_000).unwrap();
        }
        let stats = LatencyStats::from_histogram(histogram);
        let json = serde_json::to_value(&stats).unwrap();
        assert!(json["p50"].as_f64().unwrap() > 49.9);
        assert!(json["p95"].is_null() && json["p999"].is_null());
        assert_eq!(json["count"], 100);
        assert!(stats.p95 > Duration::from_millis(94));
        let back: LatencyStats = serde_json::from_value(json).unwrap();
        assert_eq!(back, stats);
    }

    #[test]
    fn nothing_measured_is_null_and_comes_back() {
        let json = serde_json::to_value(LatencyStats::default()).unwrap();
        assert!(json["min"].is_null() && json["mean"].is_null());
        let back: LatencyStats = serde_json::from_value(json).unwrap();
        assert_eq!(back.count, 0);
    }

    #[test]
    fn a_broken_histogram_is_an_error() {
        let json = serde_json::json!({ "count": 1, "histogram": "%%%" });
        assert!(serde_json::from_value::<LatencyStats>(json).is_err());
        let json = serde_json::json!({ "count": 1, "histogram": "AAAA" });
        assert!(serde_json::from_value::<LatencyStats>(json).is_err());
    }
}
