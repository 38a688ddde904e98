//! Line charts as inline SVG: axes with labels, a title for those who cannot see it.

use std::fmt::Write as _;

use super::axis::Axis;
use super::escape;

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

/// What a chart shows.
pub struct Chart<'a> {
    /// What is shown.
    pub title: &'a str,
    /// What runs to the right.
    pub x_label: &'a str,
    /// What runs up.
    pub y_label: &'a str,
    /// `series`, and for bad news `bad`.
    pub class: &'a str,
    /// The points from left to right; one without a value interrupts the line.
    pub points: Vec<(f64, Option<f64>)>,
    /// Where something began, as dashed lines.
    pub marks: Vec<f64>,
    /// Whether the scale begins at zero; else at the smallest value.
    pub from_zero: bool,
}

impl Chart<'_> {
    /// The chart with its caption; nothing when there are not two values.
    pub fn draw(&self) -> String {
        let values: Vec<f64> = self.points.iter().filter_map(|(_, value)| *value).collect();
        if values.len() < 2 {
            return String::new();
        }
        let high = values.iter().copied().fold(f64::MIN, f64::max);
        let low = values.iter().copied().fold(f64::MAX, f64::min);
        let vertical = if self.from_zero {
            Axis::up_to(high)
        } else {
            Axis::around(low, high)
        };
        let places = self.points.iter().map(|(place, _)| *place);
        let first = places.clone().fold(f64::MAX, f64::min);
        let last = places.fold(f64::MIN, f64::max);
        let horizontal = Axis::within(if first < last / 3.0 { 0.0 } else { first }, last);
        let mut svg = String::new();
        let _ = write!(
            svg,
            "<figure>\n<figcaption>{title}</figcaption>\n<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{title}\">\n<title>{title}: {y} over {x}, from {low} to {high}</title>\n",
            title = escape(self.title),
            y = escape(self.y_label),
            x = escape(self.x_label),
            low = short(low),
            high = short(high),
        );
        draw_axes(&mut svg, &horizontal, &vertical, self);
        for mark in &self.marks {
            let x = right_to(horizontal.place(*mark));
            let _ = writeln!(
                svg,
                "<line class=\"mark\" x1=\"{x:.1}\" y1=\"{TOP}\" x2=\"{x:.1}\" y2=\"{:.1}\"/>",
                HEIGHT - BOTTOM
            );
        }
        self.draw_line(&mut svg, &horizontal, &vertical);
        svg.push_str("</svg>\n</figure>\n");
        svg
    }

    fn draw_line(&self, svg: &mut String, horizontal: &Axis, vertical: &Axis) {
        let mut path = String::new();
        let mut dots = String::new();
        let mut is_drawing = false;
        for (place, value) in &self.points {
            let Some(value) = value else {
                is_drawing = false;
                continue;
            };
            let x = right_to(horizontal.place(*place));
            let y = down_to(vertical.place(*value));
            let command = if is_drawing { 'L' } else { 'M' };
            let _ = write!(path, "{command}{x:.1} {y:.1}");
            is_drawing = true;
            if self.points.len() <= DOTS_MAX {
                let _ = writeln!(
                    dots,
                    "<circle class=\"{}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\"><title>{}: {}</title></circle>",
                    self.class,
                    short(*place),
                    short(*value)
                );
            }
        }
        let _ = write!(svg, "<path class=\"{}\" d=\"{path}\"/>\n{dots}", self.class);
    }
}

fn draw_axes(svg: &mut String, horizontal: &Axis, vertical: &Axis, chart: &Chart<'_>) {
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

/// Three or four digits, whatever the size.
fn short(value: f64) -> String {
    let digits = match value.abs() {
        size if size >= 100.0 => 0,
        size if size >= 10.0 => 1,
        size if size >= 1.0 => 2,
        _ => 4,
    };
    crate::figure::decimal(value, digits)
}

fn right_to(share: f64) -> f64 {
    LEFT + share * (WIDTH - RIGHT - LEFT)
}

fn down_to(share: f64) -> f64 {
    HEIGHT - BOTTOM - share * (HEIGHT - BOTTOM - TOP)
}
