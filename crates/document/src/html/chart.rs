//! Line charts as inline SVG: axes with labels, a title for those who cannot see it.

use std::fmt::Write as _;

use super::axis::Axis;
use super::{class, escape};
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
pub(super) fn draw_chart(chart: &Chart) -> String {
    let values: Vec<f64> = chart
        .points
        .iter()
        .filter_map(|(_, value)| *value)
        .collect();
    if values.len() < 2 {
        return String::new();
    }
    let high = values.iter().copied().fold(f64::MIN, f64::max);
    let low = values.iter().copied().fold(f64::MAX, f64::min);
    let vertical = if chart.from_zero {
        Axis::up_to(high)
    } else {
        Axis::around(low, high)
    };
    let places = chart.points.iter().map(|(place, _)| *place);
    let first = places.clone().fold(f64::MAX, f64::min);
    let last = places.fold(f64::MIN, f64::max);
    let horizontal = Axis::within(if first < last / 3.0 { 0.0 } else { first }, last);
    let mut svg = String::new();
    let _ = write!(
        svg,
        "<figure>\n<figcaption>{title}{marked}</figcaption>\n<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{title}\">\n<title>{title}: {y} over {x}, from {low} to {high}</title>\n",
        title = escape(chart.title),
        marked = if chart.marks.is_empty() {
            String::new()
        } else {
            format!(" <small>(dashed: {})</small>", escape(&chart.marked))
        },
        y = escape(chart.y_label),
        x = escape(chart.x_label),
        low = short(low),
        high = short(high),
    );
    draw_axes(&mut svg, &horizontal, &vertical, chart);
    for mark in &chart.marks {
        let x = right_to(horizontal.place(*mark));
        let _ = writeln!(
            svg,
            "<line class=\"mark\" x1=\"{x:.1}\" y1=\"{TOP}\" x2=\"{x:.1}\" y2=\"{:.1}\"/>",
            HEIGHT - BOTTOM
        );
    }
    draw_line(&mut svg, &horizontal, &vertical, chart);
    svg.push_str("</svg>\n</figure>\n");
    svg
}

fn draw_line(svg: &mut String, horizontal: &Axis, vertical: &Axis, chart: &Chart) {
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
            let _ = writeln!(
                dots,
                "<circle class=\"{}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\"><title>{}: {}</title></circle>",
                class,
                short(*place),
                short(*value)
            );
        }
    }
    let _ = write!(svg, "<path class=\"{class}\" d=\"{path}\"/>\n{dots}");
}

fn draw_axes(svg: &mut String, horizontal: &Axis, vertical: &Axis, chart: &Chart) {
    for tick in vertical.ticks() {
        let y = down_to(vertical.place(*tick));
        let _ = write!(
            svg,
            "<line class=\"grid\" x1=\"{LEFT}\" y1=\"{y:.1}\" x2=\"{:.1}\" y2=\"{y:.1}\"/>\n<text class=\"tick end\" x=\"{:.1}\" y=\"{:.1}\">{}</text>\n",
            WIDTH - RIGHT,
            LEFT - 6.0,
            y + 4.0,
            escape(&vertical.label(*tick))
        );
    }
    for tick in horizontal.ticks() {
        let x = right_to(horizontal.place(*tick));
        let _ = writeln!(
            svg,
            "<text class=\"tick middle\" x=\"{x:.1}\" y=\"{:.1}\">{}</text>",
            HEIGHT - BOTTOM + 16.0,
            escape(&horizontal.label(*tick))
        );
    }
    let _ = write!(
        svg,
        "<text class=\"label middle\" x=\"{:.1}\" y=\"{:.1}\">{}</text>\n<text class=\"label middle\" transform=\"translate(14 {:.1}) rotate(-90)\">{}</text>\n",
        f64::midpoint(LEFT, WIDTH - RIGHT),
        HEIGHT - 6.0,
        escape(chart.x_label),
        f64::midpoint(TOP, HEIGHT - BOTTOM),
        escape(chart.y_label)
    );
}

/// How often something fell into each stretch, as bars; nothing without any.
pub(super) fn draw_bars(bars: &Bars) -> String {
    if bars.rows.is_empty() {
        return String::new();
    }
    let total: u64 = bars.rows.iter().map(|bar| bar.count).sum();
    let largest = bars.rows.iter().map(|bar| bar.count).max().unwrap_or(0);
    let mut svg = String::new();
    let mut y = 0.0;
    for bar in &bars.rows {
        let (from, until) = (escape(&bar.from), escape(&bar.until));
        let share = figure::rough_percent(figure::share(bar.count, total));
        let share = escape(&share);
        let marks = bar.marks.join(" ");
        let room = WIDTH - BAR_LEFT - BAR_RIGHT;
        let mut width = figure::share(bar.count, largest) * room;
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
