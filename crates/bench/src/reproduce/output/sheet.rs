//! A drawing in SVG: lines, marks and text at places in pixels, in the few colours that the page knows.

use plotters::element::DashedPathElement;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// The colour of text and axes.
pub(crate) const INK: RGBColor = RGBColor(0x22, 0x22, 0x22);
/// The colour of lines behind the data.
pub(crate) const FAINT: RGBColor = RGBColor(0xDD, 0xDD, 0xDD);
/// The colour of series that are there only to compare with.
pub(crate) const GREY: RGBColor = RGBColor(0x77, 0x77, 0x77);
/// Colours that colour-blind readers can tell apart (M. Okabe and K. Ito). Marks and order tell series apart as well.
pub(crate) const PALETTE: [RGBColor; 6] = [
    RGBColor(0x00, 0x72, 0xB2),
    RGBColor(0xD5, 0x5E, 0x00),
    RGBColor(0x00, 0x9E, 0x73),
    RGBColor(0xCC, 0x79, 0xA7),
    RGBColor(0xE6, 0x9F, 0x00),
    RGBColor(0x56, 0xB4, 0xE9),
];

/// The factor by which the library writes a font size smaller than the height of a line that it is given.
const EM_PER_PIXEL: f64 = 1.24;

/// A place on a sheet, in pixels to the right of and below the top left corner.
pub(crate) type Spot = (i32, i32);

/// The end of a text, or its middle, that is drawn at the given spot.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Side {
    Left,
    Middle,
    Right,
}

/// A sheet to draw on.
pub(crate) struct Sheet<'a, 'b> {
    canvas: &'a DrawingArea<SVGBackend<'b>, plotters::coord::Shift>,
}

/// The result of a drawing step.
pub(crate) type Drawn<'b> = Result<(), DrawingAreaErrorKind<<SVGBackend<'b> as DrawingBackend>::ErrorType>>;

/// Lets `work` draw on a white sheet, and returns the SVG.
pub(crate) fn draw(
    (width, height): (i32, i32),
    work: impl for<'b> FnOnce(&Sheet<'_, 'b>) -> Drawn<'b>,
) -> Result<String, String> {
    let mut svg = String::new();
    let canvas = SVGBackend::with_string(&mut svg, (width as u32, height as u32)).into_drawing_area();
    let drawn = canvas.fill(&WHITE).and_then(|()| work(&Sheet { canvas: &canvas })).and_then(|()| canvas.present());
    drawn.map_err(|error| format!("the figure could not be drawn: {error}"))?;
    drop(canvas);
    Ok(svg)
}

impl<'b> Sheet<'_, 'b> {
    pub(crate) fn text(&self, text: &str, spot: Spot, size: u32, side: Side) -> Drawn<'b> {
        self.text_in(INK, text, spot, size, side)
    }

    pub(crate) fn text_in(&self, color: RGBColor, text: &str, spot: Spot, size: u32, side: Side) -> Drawn<'b> {
        let side = match side {
            Side::Left => HPos::Left,
            Side::Middle => HPos::Center,
            Side::Right => HPos::Right,
        };
        let style =
            ("sans-serif", f64::from(size) * EM_PER_PIXEL).into_font().color(&color).pos(Pos::new(side, VPos::Center));
        self.canvas.draw(&Text::new(text.to_owned(), spot, style))
    }

    pub(crate) fn line(&self, color: RGBColor, width: u32, spots: Vec<Spot>) -> Drawn<'b> {
        self.canvas.draw(&PathElement::new(spots, color.stroke_width(width)))
    }

    pub(crate) fn dashes(&self, color: RGBColor, width: u32, spots: Vec<Spot>) -> Drawn<'b> {
        self.canvas.draw(&DashedPathElement::new(spots, 5, 4, color.stroke_width(width)))
    }

    pub(crate) fn rectangle(&self, color: RGBColor, from: Spot, to: Spot) -> Drawn<'b> {
        self.canvas.draw(&Rectangle::new([from, to], color.filled()))
    }

    /// Draws the mark of a series, whose shape its number decides. Two series with the same shape have different
    /// colours.
    pub(crate) fn mark(&self, color: RGBColor, series: usize, (x, y): Spot) -> Drawn<'b> {
        let polygon = |spots: &[Spot]| {
            let spots: Vec<_> = spots.iter().map(|&(dx, dy)| (x + dx, y + dy)).collect();
            self.canvas.draw(&Polygon::new(spots, color.filled()))
        };
        match (series + series / PALETTE.len()) % PALETTE.len() {
            0 => self.canvas.draw(&Circle::new((x, y), 4, color.filled())),
            1 => polygon(&[(-4, -4), (4, -4), (4, 4), (-4, 4)]),
            2 => polygon(&[(0, -5), (5, 4), (-5, 4)]),
            3 => polygon(&[(0, -6), (6, 0), (0, 6), (-6, 0)]),
            4 => polygon(&[(0, 5), (5, -4), (-5, -4)]),
            _ => {
                self.line(color, 2, vec![(x - 4, y - 4), (x + 4, y + 4)])?;
                self.line(color, 2, vec![(x - 4, y + 4), (x + 4, y - 4)])
            }
        }
    }
}

/// Returns a colour as the page writes it.
pub(crate) fn hex(RGBColor(red, green, blue): RGBColor) -> String {
    format!("#{red:02X}{green:02X}{blue:02X}")
}
