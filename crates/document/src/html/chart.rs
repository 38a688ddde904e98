//! Line charts as inline SVG: axes with labels, a title for those who cannot see it.

use std::fmt::Write as _;

use maud::{Markup, html};
use mcprove_settings::number::float_len;

use super::axis::Axis;
use super::class;
use crate::block::{Bar, Bars, Chart};
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

/// Whether there is a line to see: two values make one.
pub fn has_line(chart: &Chart) -> bool {
    values(chart).count() >= 2
}

fn values(chart: &Chart) -> impl Iterator<Item = f64> {
    chart.points.iter().filter_map(|(_, value)| *value)
}

/// The chart with its caption.
pub fn draw_chart(chart: &Chart) -> Markup {
    let (low, high) = ends(values(chart));
    let vertical = if chart.from_zero {
        Axis::up_to(high)
    } else {
        Axis::around(low, high)
    };
    let (first, last) = ends(chart.points.iter().map(|(place, _)| *place));
    let horizontal = Axis::within(if first < last / 3.0 { 0.0 } else { first }, last);
    let (title, bottom) = (chart.title, at(HEIGHT - BOTTOM));
    html! {
        figure {
            figcaption {
                (title)
                @if !chart.marks.is_empty() { " " small { "(dashed: " (chart.marked) ")" } }
            }
            svg viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } role="img" aria-label=(title) {
                title {
                    (title) ": " (chart.y_label) " over " (chart.x_label)
                    ", from " (short(low)) " to " (short(high))
                }
                (draw_axes(&horizontal, &vertical, chart))
                @for x in chart.marks.iter().map(|mark| at(right_to(horizontal.place(*mark)))) {
                    line class="mark" x1=(x) y1=(TOP) x2=(x) y2=(bottom) {}
                }
                (draw_line(&horizontal, &vertical, chart))
            }
        }
    }
}

/// The smallest and the largest.
fn ends(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::MAX, f64::MIN), |(low, high), value| {
        (low.min(value), high.max(value))
    })
}

fn draw_line(horizontal: &Axis, vertical: &Axis, chart: &Chart) -> Markup {
    let mut path = String::new();
    let mut dots = Vec::new();
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
            dots.push((x, y, short(*place), short(*value)));
        }
    }
    let class = class(chart.tone);
    html! {
        path class=(class) d=(path) {}
        @for (x, y, place, value) in dots {
            circle class=(class) cx=(at(x)) cy=(at(y)) r="3" { title { (place) ": " (value) } }
        }
    }
}

fn draw_axes(horizontal: &Axis, vertical: &Axis, chart: &Chart) -> Markup {
    let (left, right) = (at(LEFT - 6.0), at(WIDTH - RIGHT));
    html! {
        @for tick in vertical.ticks() {
            @let y = down_to(vertical.place(*tick));
            line class="grid" x1=(LEFT) y1=(at(y)) x2=(right) y2=(at(y)) {}
            text class="tick end" x=(left) y=(at(y + 4.0)) { (vertical.label(*tick)) }
        }
        @for tick in horizontal.ticks() {
            @let x = at(right_to(horizontal.place(*tick)));
            text class="tick middle" x=(x) y=(at(HEIGHT - BOTTOM + 16.0)) { (horizontal.label(*tick)) }
        }
        text class="label middle" x=(at(right_to(0.5))) y=(at(HEIGHT - 6.0)) { (chart.x_label) }
        text class="label middle" transform={ "translate(14 " (at(down_to(0.5))) ") rotate(-90)" } { (chart.y_label) }
    }
}

/// How often something fell into each stretch, as bars.
pub fn draw_bars(bars: &Bars) -> Markup {
    let height = ROW_HEIGHT * float_len(bars.rows.len());
    html! {
        figure class="wide" {
            figcaption { (bars.title) }
            svg viewBox={ "0 0 " (WIDTH) " " (height) } role="img" aria-label=(bars.title) {
                @for (row, (bar, share, length)) in bars.shares().enumerate() {
                    (draw_bar(bar, bars.noun, &share, length, ROW_HEIGHT * float_len(row)))
                }
            }
        }
    }
}

fn draw_bar(bar: &Bar, noun: &str, share: &str, length: f64, y: f64) -> Markup {
    let width_min = if bar.count > 0 { 1.0 } else { 0.0 };
    let width = (length * (WIDTH - BAR_LEFT - BAR_RIGHT)).max(width_min);
    let (marks, text) = (bar.marks.join(" "), at(y + 15.0));
    html! {
        g {
            title {
                (bar.from) " to " (bar.until) ": " (figure::counted(bar.count, noun)) " (" (share) ") " (marks)
            }
            text class="tick end" x=(at(BAR_LEFT - 8.0)) y=(text) { (bar.from) " – " (bar.until) }
            rect class="neutral" x=(BAR_LEFT) y=(at(y + 3.0)) width=(at(width)) height=(at(ROW_HEIGHT - 6.0)) {}
            text class="tick" x=(at(BAR_LEFT + width + 6.0)) y=(text) { (share) " " tspan class="strong" { (marks) } }
        }
    }
}

/// A place in a drawing.
fn at(place: f64) -> String {
    format!("{place:.1}")
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
