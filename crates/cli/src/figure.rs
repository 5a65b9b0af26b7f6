//! Figures as SVG: lines over a number of costs, with dashes as well as colours so that they print in grey.

use std::path::Path;

use plotters::coord::Shift;
use plotters::prelude::*;

use crate::output::Failure;

/// One line.
pub struct Line {
    pub name: String,
    pub points: Vec<(f64, f64)>,
}

/// One chart: the lines it is about, and references beside them.
pub struct Panel {
    pub title: String,
    pub lines: Vec<Line>,
    pub references: Vec<Line>,
}

/// Colours that differ in lightness too.
const COLOURS: [RGBColor; 6] = [
    RGBColor(150, 150, 150),
    RGBColor(213, 94, 0),
    RGBColor(86, 180, 233),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(0, 60, 120),
];
/// Dashes and gaps in pixels.
const DASHES: [(i32, i32); 6] = [(2, 3), (10, 4), (6, 3), (14, 5), (4, 4), SOLID];
const SOLID: (i32, i32) = (10_000, 1);

/// The drawing library rounds to whole pixels, so a figure is drawn this many times larger than it is shown.
const FINER: u32 = 3;
const PANEL_WIDTH: u32 = 600;
const HEIGHT: u32 = 520;

/// A length in shown pixels.
const fn px(pixels: u32) -> u32 {
    pixels * FINER
}

/// Draws the panels side by side, both axes logarithmic.
pub fn draw(path: &Path, title: &str, x_label: &str, y_label: &str, panels: &[Panel]) -> Result<(), Failure> {
    let fail = |error: &dyn std::fmt::Display| {
        Failure::Other(format!("the figure {} cannot be written: {error}; is the folder there?", path.display()))
    };
    let width = PANEL_WIDTH * panels.len() as u32;
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, (px(width), px(HEIGHT))).into_drawing_area();
        area.fill(&WHITE).map_err(|error| fail(&error))?;
        let area = area.titled(title, ("sans-serif", px(18))).map_err(|error| fail(&error))?;
        for (panel, area) in panels.iter().zip(area.split_evenly((1, panels.len()))) {
            draw_panel(panel, &area, x_label, y_label).map_err(|error| fail(&error))?;
        }
        area.present().map_err(|error| fail(&error))?;
    }
    let drawn = format!("width=\"{}\" height=\"{}\"", px(width), px(HEIGHT));
    let shown = format!("width=\"{width}\" height=\"{HEIGHT}\"");
    std::fs::write(path, svg.replacen(&drawn, &shown, 1)).map_err(|error| fail(&error))
}

fn draw_panel(
    panel: &Panel,
    area: &DrawingArea<SVGBackend, Shift>,
    x_label: &str,
    y_label: &str,
) -> Result<(), Box<dyn std::error::Error>> {
    let points = || panel.lines.iter().chain(&panel.references).flat_map(|line| &line.points);
    let range = |pick: fn(&(f64, f64)) -> f64| {
        points()
            .map(pick)
            .filter(|value| *value > 0.0)
            .fold((f64::INFINITY, 0.0f64), |(low, high), value| (low.min(value), high.max(value)))
    };
    let ((x_low, x_high), (y_low, y_high)) = (range(|point| point.0), range(|point| point.1));
    if x_high <= 0.0 {
        return Err("there is nothing to draw".into());
    }
    // Basic composition runs far above the rest; it may leave the chart, so that the others stay apart. The legend stands at the
    // lower right, below all lines.
    let others = panel.lines.iter().filter(|line| line.name != "basic").flat_map(|line| &line.points);
    let y_high = others.map(|point| point.1).fold(0.0, f64::max).clamp(2.0 * y_low, y_high.max(2.0 * y_low)) * 1.5;
    let mut chart = ChartBuilder::on(area)
        .caption(&panel.title, ("sans-serif", px(15)))
        .margin(px(10))
        .margin_right(px(26))
        .x_label_area_size(px(40))
        .y_label_area_size(px(56))
        .build_cartesian_2d((x_low..x_high.max(x_low * 2.0)).log_scale(), (y_low * 0.8..y_high).log_scale())?;
    chart
        .configure_mesh()
        .x_desc(x_label)
        .y_desc(y_label)
        .axis_desc_style(("sans-serif", px(13)))
        .label_style(("sans-serif", px(11)))
        .axis_style(BLACK.stroke_width(FINER))
        .bold_line_style(BLACK.mix(0.15).stroke_width(FINER))
        .light_line_style(WHITE)
        .x_label_formatter(&|value| short(*value))
        .y_label_formatter(&|value| short(*value))
        .draw()?;
    let own =
        panel.lines.iter().zip(COLOURS).zip(DASHES).map(|((line, colour), dash)| (line, colour.mix(1.0), 2, dash));
    let greys = [0.45, 0.7, 1.0].map(|share| BLACK.mix(share));
    let beside = panel
        .references
        .iter()
        .zip(greys)
        .zip([(1, 3), (5, 3), SOLID])
        .map(|((line, grey), dash)| (line, grey, 1, dash));
    for (line, colour, width, (dash, gap)) in beside.chain(own).filter(|(line, ..)| !line.points.is_empty()) {
        let (dash, gap, style) = (dash * FINER as i32, gap * FINER as i32, colour.stroke_width(px(width)));
        chart
            .draw_series(DashedLineSeries::new(
                line.points.iter().copied().filter(|point| point.1 <= y_high),
                dash,
                gap,
                style,
            ))?
            .label(label(line))
            .legend(move |(x, y)| {
                plotters::element::DashedPathElement::new([(x, y), (x + px(26) as i32, y)], dash, gap, style)
            });
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::LowerRight)
        .label_font(("sans-serif", px(11)))
        .legend_area_size(px(32))
        .margin(px(8))
        .background_style(WHITE)
        .border_style(BLACK.mix(0.3))
        .draw()?;
    Ok(())
}

/// A line's name with where it ends.
fn label(line: &Line) -> String {
    let end = line.points.last().map_or(String::new(), |point| format!(": {:.3} at the end", point.1));
    format!("{}{end}", line.name)
}

/// A tick's label.
fn short(value: f64) -> String {
    if (0.01..100_000.0).contains(&value) { format!("{value}") } else { format!("{value:e}") }
}
