//! Figures as SVG: lines with dashes as well as colours, so that they print in grey.

use std::path::Path;

use plotters::coord::Shift;
use plotters::coord::types::RangedCoordf64;
use plotters::element::DashedPathElement;
use plotters::prelude::*;

use crate::output::Failure;

/// The points of one curve, and how they are drawn.
pub struct FigureSeries {
    pub name: String,
    pub points: Vec<(f64, f64)>,
    pub kind: SeriesKind,
}

/// How a series is drawn.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum SeriesKind {
    /// A subject of the figure: coloured.
    Own,
    /// A reference to compare with: thin and grey.
    Reference,
    /// A grey bar for each point, one unit wide including the gap.
    Bars,
    /// A dot for each point.
    Dots,
}

/// The scale of an axis.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scale {
    Linear,
    Logarithmic,
}

/// An axis.
pub struct FigureAxis {
    label: &'static str,
    scale: Scale,
    /// The range; without one, the range of the points.
    range: Option<(f64, f64)>,
}

/// One chart.
pub struct FigurePanel {
    pub title: &'static str,
    pub x: FigureAxis,
    pub y: FigureAxis,
    pub lines: Vec<FigureSeries>,
    pub legend: SeriesLabelPosition,
}

/// Colours that also differ in lightness.
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
const REFERENCES: [(f64, (i32, i32)); 3] = [(0.9, SOLID), (0.6, (5, 3)), (0.45, (1, 3))];

/// The drawing library rounds to whole pixels, so a figure is drawn larger than it is shown, by this factor.
const FINER: u32 = 3;
const PANEL_WIDTH: u32 = 600;
const HEIGHT: u32 = 520;

/// A length in shown pixels.
const fn px(pixels: u32) -> u32 {
    pixels * FINER
}

/// Whole numbers from one to another, evenly spread on a logarithmic scale.
pub fn spread(from: f64, to: f64, points: u32) -> Vec<u64> {
    let at = |step: u32| (from * (to / from).powf(f64::from(step) / f64::from(points))).round() as u64;
    let mut numbers: Vec<u64> = (0..=points).map(at).collect();
    numbers.dedup();
    numbers
}

/// The largest count below `limit` that fits, by bisection. A count of 0 always fits.
pub fn most_that_fit(limit: usize, fits: impl Fn(usize) -> Result<bool, Failure>) -> Result<usize, Failure> {
    let (mut most, mut too_many) = (0, limit);
    while too_many - most > 1 {
        let middle = (most + too_many) / 2;
        if fits(middle)? { most = middle } else { too_many = middle }
    }
    Ok(most)
}

/// Where readers prefer dark pages, light and dark change places, and every colour stays what it is.
const DARK: &str =
    "<style>@media (prefers-color-scheme: dark) { svg { filter: invert(0.9) hue-rotate(180deg) } }</style>";

/// Draws the panels side by side.
pub fn draw(path: &Path, title: &str, panels: &[FigurePanel]) -> Result<(), Failure> {
    let fail = |error: &dyn std::fmt::Display| {
        Failure::Other(format!("the figure {} cannot be written: {error}; is the folder there?", path.display()))
    };
    let width = PANEL_WIDTH * panels.len() as u32;
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, (px(width), px(HEIGHT))).into_drawing_area();
        area.fill(&WHITE).map_err(|error| fail(&error))?;
        let area = area.margin(px(6), 0, 0, 0);
        let area = area.titled(title, ("sans-serif", px(18))).map_err(|error| fail(&error))?;
        for (panel, area) in panels.iter().zip(area.split_evenly((1, panels.len()))) {
            draw_panel(panel, &area).map_err(|error| fail(&error))?;
        }
        area.present().map_err(|error| fail(&error))?;
    }
    let drawn = format!("width=\"{}\" height=\"{}\"", px(width), px(HEIGHT));
    let shown = format!("width=\"{width}\" height=\"{HEIGHT}\"");
    let svg = svg.replacen(&drawn, &shown, 1).replacen(">\n", &format!(">\n{DARK}\n"), 1);
    std::fs::write(path, svg).map_err(|error| fail(&error))
}

fn draw_panel(panel: &FigurePanel, area: &DrawingArea<SVGBackend, Shift>) -> Result<(), Box<dyn std::error::Error>> {
    // A logarithmic axis is a linear axis of logarithms, labelled with the original values.
    let (x_low, x_high) = panel.x.span(panel, |point| point.0).ok_or("there is nothing to draw")?;
    let (y_low, y_high) = panel.y.span(panel, |point| point.1).ok_or("there is nothing to draw")?;
    let mut chart = ChartBuilder::on(area)
        .caption(panel.title, ("sans-serif", px(15)))
        .margin(px(10))
        .margin_right(px(26))
        .x_label_area_size(px(40))
        .y_label_area_size(px(60))
        .build_cartesian_2d(x_low..x_high, y_low..y_high)?;
    chart
        .configure_mesh()
        .x_desc(panel.x.label)
        .y_desc(panel.y.label)
        .axis_desc_style(("sans-serif", px(13)))
        .label_style(("sans-serif", px(11)))
        .axis_style(BLACK.stroke_width(FINER))
        .bold_line_style(BLACK.mix(0.15).stroke_width(FINER))
        .light_line_style(WHITE)
        .x_label_formatter(&|value| panel.x.tick(*value))
        .y_label_formatter(&|value| panel.y.tick(*value))
        .draw()?;
    for (at, series) in panel.lines.iter().enumerate().filter(|(_, series)| !series.points.is_empty()) {
        let is_alike = |other: &&FigureSeries| other.kind == series.kind && !other.points.is_empty();
        draw_series(&mut chart, panel, series, panel.lines[..at].iter().filter(is_alike).count())?;
    }
    chart
        .configure_series_labels()
        .position(panel.legend.clone())
        .label_font(("sans-serif", px(11)))
        .legend_area_size(px(32))
        .margin(px(8))
        .background_style(WHITE.mix(0.9))
        .border_style(BLACK.mix(0.3))
        .draw()?;
    Ok(())
}

/// Draws a series. `index` counts the series of the same kind before it.
fn draw_series<DB: DrawingBackend>(
    chart: &mut ChartContext<'_, DB, Cartesian2d<RangedCoordf64, RangedCoordf64>>,
    panel: &FigurePanel,
    series: &FigureSeries,
    index: usize,
) -> Result<(), DrawingAreaErrorKind<DB::ErrorType>> {
    let points = series.points.iter().map(|point| (panel.x.place(point.0), panel.y.place(point.1)));
    let [x_range, y_range] = [chart.x_range(), chart.y_range()].map(|range| range.start..=range.end);
    let (width, half) = (px(26) as i32, px(4) as i32);
    let (style, (dash, gap)) = match series.kind {
        SeriesKind::Bars => {
            let (style, base) = (BLACK.mix(0.25).filled(), y_range.start().max(0.0));
            let bar = |(x, y): (f64, f64)| Rectangle::new([(x - 0.4, base), (x + 0.4, y)], style);
            let legend = move |(x, y)| Rectangle::new([(x, y - half), (x + width, y + half)], style);
            chart.draw_series(points.map(bar))?.label(&series.name).legend(legend);
            return Ok(());
        }
        SeriesKind::Dots => {
            let style = COLOURS[5].filled();
            let legend = move |(x, y)| Circle::new((x + width / 2, y), px(3), style);
            let dots = points.map(|point| Circle::new(point, px(3), style));
            chart.draw_series(dots)?.label(&series.name).legend(legend);
            return Ok(());
        }
        SeriesKind::Own => (COLOURS[index % COLOURS.len()].stroke_width(px(2)), DASHES[index % DASHES.len()]),
        SeriesKind::Reference => {
            let (grey, dash) = REFERENCES[index % REFERENCES.len()];
            (BLACK.mix(grey).stroke_width(px(1)), dash)
        }
    };
    let (dash, gap) = (dash * FINER as i32, gap * FINER as i32);
    // Points outside of the chart are left out; otherwise they would be drawn along its edge.
    let inside = points.filter(|(x, y)| x_range.contains(x) && y_range.contains(y));
    let line = DashedLineSeries::new(inside.collect::<Vec<_>>(), dash, gap, style);
    chart
        .draw_series(line)?
        .label(&series.name)
        .legend(move |(x, y)| DashedPathElement::new([(x, y), (x + width, y)], dash, gap, style));
    Ok(())
}

impl FigureSeries {
    /// A series without points.
    pub fn new(kind: SeriesKind, name: impl Into<String>) -> FigureSeries {
        FigureSeries { name: name.into(), points: Vec::new(), kind }
    }

    /// The series with these points.
    pub fn through(self, points: impl IntoIterator<Item = (f64, f64)>) -> FigureSeries {
        FigureSeries { points: points.into_iter().collect(), ..self }
    }
}

impl FigureAxis {
    /// A linear axis as wide as its points.
    pub fn linear(label: &'static str) -> FigureAxis {
        FigureAxis { label, scale: Scale::Linear, range: None }
    }

    /// A logarithmic axis as wide as its points.
    pub fn logarithmic(label: &'static str) -> FigureAxis {
        FigureAxis { label, scale: Scale::Logarithmic, range: None }
    }

    /// The axis with a fixed range.
    pub fn from(self, low: f64, high: f64) -> FigureAxis {
        FigureAxis { range: Some((low, high)), ..self }
    }

    /// The position of a value on the axis.
    fn place(&self, value: f64) -> f64 {
        match self.scale {
            Scale::Linear => value,
            Scale::Logarithmic => value.log10(),
        }
    }

    /// The ends of the axis; none if there is no point.
    fn span(&self, panel: &FigurePanel, pick: fn(&(f64, f64)) -> f64) -> Option<(f64, f64)> {
        if let Some((low, high)) = self.range {
            return Some((self.place(low), self.place(high)));
        }
        let places = panel.lines.iter().flat_map(|line| &line.points).map(|point| self.place(pick(point)));
        let (low, high) = places
            .filter(|place| place.is_finite())
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), place| (low.min(place), high.max(place)));
        let (low, high) = if low == high { (low - 0.5, high + 0.5) } else { (low, high) };
        (low < high).then_some((low, high))
    }

    /// The label of a tick. On a logarithmic axis, only powers of ten have one.
    fn tick(&self, place: f64) -> String {
        match self.scale {
            Scale::Linear => format!("{}", (place * 1e6).round() / 1e6),
            Scale::Logarithmic if (place - place.round()).abs() > 1e-6 => String::new(),
            Scale::Logarithmic => {
                let value = 10f64.powi(place.round() as i32);
                if (1e-3..1e5).contains(&value) { format!("{value}") } else { format!("{value:e}") }
            }
        }
    }
}
