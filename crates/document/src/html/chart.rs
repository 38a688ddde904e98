//! Line charts as inline SVG: axes with labels, a title for those who cannot see it.

use std::fmt::Write as _;

use super::axis::Axis;
use super::{class, each, escape};
use crate::block::{Bars, Chart};
use crate::figure;

/// The size of a chart in its own units. Small, so that its letters stay readable where it is
/// scaled down to a phone.
const WIDTH: f64 = 480.0;
const HEIGHT: f64 = 220.0;
const LEFT: f64 = 62.0;
const RIGHT: f64 = 12.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 42.0;
/// Up to so many points each is drawn as a dot too.
const DOTS_MAX: usize = 40;

/// The size of rows of bars, in its own units.
const ROW_HEIGHT: f64 = 22.0;
const BAR_LEFT: f64 = 166.0;
const BAR_RIGHT: f64 = 128.0;

/// The chart with its caption; nothing when there are not two values.
pub fn draw_chart(chart: &Chart) -> String {
    let values = chart.points.iter().filter_map(|(_, value)| *value);
    if values.clone().count() < 2 {
        return String::new();
    }
    let (low, high) = ends(values);
    let vertical = if chart.from_zero {
        Axis::up_to(high)
    } else {
        Axis::around(low, high)
    };
    let (first, last) = ends(chart.points.iter().map(|(place, _)| *place));
    let horizontal = Axis::within(if first < last / 3.0 { 0.0 } else { first }, last);
    let bottom = HEIGHT - BOTTOM;
    let marks = each(&chart.marks, |mark| {
        let x = right_to(horizontal.place(*mark));
        format!(
            "<line class=\"mark\" x1=\"{x:.1}\" y1=\"{TOP}\" x2=\"{x:.1}\" y2=\"{bottom:.1}\"/>\n"
        )
    });
    let marked = if chart.marks.is_empty() {
        String::new()
    } else {
        format!(" <small>(dashed: {})</small>", escape(&chart.marked))
    };
    format!(
        "<figure>\n<figcaption>{title}{marked}</figcaption>\n<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{title}\">\n<title>{title}: {y} over {x}, from {low} to {high}</title>\n{axes}{marks}{line}</svg>\n</figure>\n",
        title = escape(chart.title),
        y = escape(chart.y_label),
        x = escape(chart.x_label),
        low = short(low),
        high = short(high),
        axes = draw_axes(&horizontal, &vertical, chart),
        line = draw_line(&horizontal, &vertical, chart),
    )
}

/// The smallest and the largest.
fn ends(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::MAX, f64::MIN), |(low, high), value| {
        (low.min(value), high.max(value))
    })
}

fn draw_line(horizontal: &Axis, vertical: &Axis, chart: &Chart) -> String {
    let class = class(chart.tone);
    let mut path = String::new();
    let mut dots = String::new();
    let mut is_drawing = false;
    for (place, value) in &chart.points {
        let Some(value) = value else {
            is_drawing = false;
            continue;
        };
        let x = right_to(horizontal.place(*place));
        let y = down_to(vertical.place(*value));
        let command = if is_drawing { 'L' } else { 'M' };
        let _ = write!(path, "{command}{x:.1} {y:.1}");
        is_drawing = true;
        if chart.points.len() <= DOTS_MAX {
            let (place, value) = (short(*place), short(*value));
            let _ = writeln!(
                dots,
                "<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\"><title>{place}: {value}</title></circle>",
            );
        }
    }
    format!("<path class=\"{class}\" d=\"{path}\"/>\n{dots}")
}

fn draw_axes(horizontal: &Axis, vertical: &Axis, chart: &Chart) -> String {
    let rows = each(vertical.ticks(), |tick| {
        let y = down_to(vertical.place(*tick));
        format!(
            "<line class=\"grid\" x1=\"{LEFT}\" y1=\"{y:.1}\" x2=\"{:.1}\" y2=\"{y:.1}\"/>\n<text class=\"tick end\" x=\"{:.1}\" y=\"{:.1}\">{}</text>\n",
            WIDTH - RIGHT,
            LEFT - 6.0,
            y + 4.0,
            escape(&vertical.label(*tick))
        )
    });
    let columns = each(horizontal.ticks(), |tick| {
        let x = right_to(horizontal.place(*tick));
        let label = escape(&horizontal.label(*tick));
        let below = HEIGHT - BOTTOM + 16.0;
        format!("<text class=\"tick middle\" x=\"{x:.1}\" y=\"{below:.1}\">{label}</text>\n")
    });
    format!(
        "{rows}{columns}<text class=\"label middle\" x=\"{:.1}\" y=\"{:.1}\">{}</text>\n<text class=\"label middle\" transform=\"translate(14 {:.1}) rotate(-90)\">{}</text>\n",
        right_to(0.5),
        HEIGHT - 6.0,
        escape(chart.x_label),
        down_to(0.5),
        escape(chart.y_label)
    )
}

/// How often something fell into each stretch, as bars; nothing without any.
pub fn draw_bars(bars: &Bars) -> String {
    if bars.rows.is_empty() {
        return String::new();
    }
    let mut svg = String::new();
    let mut y = 0.0;
    for (bar, share, length) in bars.shares() {
        let (from, until, share) = (escape(&bar.from), escape(&bar.until), escape(&share));
        let marks = bar.marks.join(" ");
        let mut width = length * (WIDTH - BAR_LEFT - BAR_RIGHT);
        if bar.count > 0 {
            width = width.max(1.0);
        }
        let _ = writeln!(
            svg,
            "<g><title>{from} to {until}: {count} ({share}) {marks}</title>\
             <text class=\"tick end\" x=\"{label:.1}\" y=\"{text:.1}\">{from} – {until}</text>\
             <rect class=\"neutral\" x=\"{BAR_LEFT}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"/>\
             <text class=\"tick\" x=\"{after:.1}\" y=\"{text:.1}\">{share} <tspan class=\"strong\">{marks}</tspan></text></g>",
            count = figure::counted(bar.count, bars.noun),
            label = BAR_LEFT - 8.0,
            text = y + 15.0,
            top = y + 3.0,
            height = ROW_HEIGHT - 6.0,
            after = BAR_LEFT + width + 6.0,
        );
        y += ROW_HEIGHT;
    }
    let title = escape(bars.title);
    format!(
        "<figure class=\"wide\">\n<figcaption>{title}</figcaption>\n\
         <svg viewBox=\"0 0 {WIDTH} {y:.0}\" role=\"img\" aria-label=\"{title}\">\n{svg}</svg>\n</figure>\n"
    )
}

/// Three or four digits, whatever the size.
fn short(value: f64) -> String {
    let digits = match value.abs() {
        size if size >= 100.0 => 0,
        size if size >= 10.0 => 1,
        size if size >= 1.0 => 2,
        _ => 4,
    };
    figure::decimal(value, digits)
}

fn right_to(share: f64) -> f64 {
    LEFT + share * (WIDTH - RIGHT - LEFT)
}

fn down_to(share: f64) -> f64 {
    HEIGHT - BOTTOM - share * (HEIGHT - BOTTOM - TOP)
}
