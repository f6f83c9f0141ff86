//! QR codes as text.

use qrcode::{Color, EcLevel, QrCode};

use super::AttachError;
use crate::secret::Hidden;

/// Light modules around the code. The standard asks for four; phones read codes with two, and with two the code of a
/// usual link fits a terminal of 24 lines.
const QUIET_ZONE: usize = 2;
/// Light modules around it in a picture: four, with those it brings.
const PICTURE_BORDER: usize = 4 - QUIET_ZONE;
/// Pixels of a module's side in a picture: a code of a usual link is some 350 wide, and a chat window may halve it.
const PICTURE_SCALE: usize = 8;
/// Black on white from the colour cube, which themes do not touch, unlike the sixteen named colours.
const DARK_ON_LIGHT: &str = "\x1b[38;5;16;48;5;231m";
const RESET: &str = "\x1b[0m";

/// How a code is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QrStyle {
    /// Dark on light whatever the terminal's colours are.
    Terminal,
    /// Without escape sequences, for a file or a pipe.
    Plain,
}

/// A QR code, two modules to a character cell.
#[derive(Clone)]
pub struct Qr {
    /// Modules of a side, quiet zone included.
    side: usize,
    /// Dark modules, row by row.
    dark: Vec<bool>,
}

/// What it carries is a link.
impl std::fmt::Debug for Qr {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Qr({} x {})", self.columns(), self.rows())
    }
}

impl Qr {
    /// The code of a link, error correction level L: the smallest, and a screen has no scratches.
    pub fn new(link: &Hidden) -> Result<Self, AttachError> {
        let code = QrCode::with_error_correction_level(link.expose(), EcLevel::L).map_err(|_| AttachError::TooLong)?;
        let (width, colors) = (code.width(), code.to_colors());
        let side = width + 2 * QUIET_ZONE;
        let mut dark = vec![false; side * side];
        for (row, modules) in colors.chunks(width).enumerate() {
            for (column, color) in modules.iter().enumerate() {
                dark[(row + QUIET_ZONE) * side + column + QUIET_ZONE] = *color == Color::Dark;
            }
        }
        Ok(Self { side, dark })
    }

    /// Character cells it is wide.
    pub fn columns(&self) -> usize {
        self.side
    }

    /// Lines it is high.
    pub fn rows(&self) -> usize {
        self.side.div_ceil(2)
    }

    /// Why it cannot be read on a terminal of this size: lines would wrap, or its top would scroll away.
    pub fn misfit(&self, columns: usize, rows: usize) -> Option<String> {
        let (wide, high) = (self.columns(), self.rows());
        (wide > columns || high > rows).then(|| {
            format!("The QR code needs {wide} columns and {high} lines, and this terminal has {columns} and {rows}.")
        })
    }

    /// Its lines, each ending with a newline.
    pub fn draw(&self, style: QrStyle) -> String {
        let mut text = String::new();
        for row in (0..self.side).step_by(2) {
            if style == QrStyle::Terminal {
                text.push_str(DARK_ON_LIGHT);
            }
            text.extend((0..self.side).map(|column| {
                match (self.is_dark(row, column), self.is_dark(row + 1, column)) {
                    (true, true) => '█',
                    (true, false) => '▀',
                    (false, true) => '▄',
                    (false, false) => ' ',
                }
            }));
            if style == QrStyle::Terminal {
                text.push_str(RESET);
            }
            text.push('\n');
        }
        text
    }

    /// The path of an SVG that draws its dark modules, each one unit wide, quiet zone included.
    pub fn svg_path(&self) -> String {
        let mut path = String::new();
        for row in 0..self.side {
            let mut column = 0;
            while column < self.side {
                let run = (column..self.side).take_while(|column| self.is_dark(row, *column)).count();
                if run > 0 {
                    path.push_str(&format!("M{column} {row}h{run}v1h-{run}z"));
                }
                column += run.max(1);
            }
        }
        path
    }

    /// A picture of it: PNG, black and white.
    pub fn png(&self) -> Vec<u8> {
        let modules = self.side + 2 * PICTURE_BORDER;
        let side = modules * PICTURE_SCALE;
        let mut pixels = Vec::with_capacity(side * side);
        for row in 0..modules {
            let is_dark = |column: usize| match (row.checked_sub(PICTURE_BORDER), column.checked_sub(PICTURE_BORDER)) {
                (Some(row), Some(column)) => column < self.side && self.is_dark(row, column),
                _ => false,
            };
            let line: Vec<u8> = (0..side).map(|x| if is_dark(x / PICTURE_SCALE) { 0 } else { u8::MAX }).collect();
            (0..PICTURE_SCALE).for_each(|_| pixels.extend_from_slice(&line));
        }
        let mut file = Vec::new();
        // A code has 177 modules at most, and a vector takes whatever is written.
        let side = u32::try_from(side).unwrap_or_default();
        let mut encoder = png::Encoder::new(&mut file, side, side);
        encoder.set_color(png::ColorType::Grayscale);
        encoder.set_depth(png::BitDepth::Eight);
        if let Ok(mut writer) = encoder.write_header() {
            drop(writer.write_image_data(&pixels));
        }
        file
    }

    fn is_dark(&self, row: usize, column: usize) -> bool {
        self.dark.get(row * self.side + column).copied().unwrap_or(false)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    /// Pixels of a module's side; decoders want some.
    const SCALE: usize = 4;
    /// A decoder reads a picture, and a picture has room around the code.
    const BORDER: usize = 2;

    /// What a camera would see of printed text.
    fn decode(text: &str) -> String {
        let lines: Vec<Vec<char>> = text.lines().map(|line| line.chars().collect()).collect();
        let side = lines[0].len() + 2 * BORDER;
        let dark = |x: usize, y: usize| {
            let (Some(x), Some(y)) = (x.checked_sub(BORDER), y.checked_sub(BORDER)) else { return false };
            let cell = lines.get(y / 2).and_then(|line| line.get(x)).copied().unwrap_or(' ');
            matches!((cell, y % 2), ('█', _) | ('▀', 0) | ('▄', 1))
        };
        let pixel = |x: usize, y: usize| if dark(x / SCALE, y / SCALE) { 0 } else { 255 };
        let mut image = rqrr::PreparedImage::prepare_from_greyscale(side * SCALE, side * SCALE, pixel);
        let grids = image.detect_grids();
        grids[0].decode().unwrap().1
    }

    /// What a camera would see of a picture.
    fn read_picture(png: &[u8]) -> String {
        let mut reader = png::Decoder::new(std::io::Cursor::new(png)).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut pixels).unwrap();
        let (width, height) = (info.width as usize, info.height as usize);
        let mut image = rqrr::PreparedImage::prepare_from_greyscale(width, height, |x, y| pixels[y * width + x]);
        image.detect_grids()[0].decode().unwrap().1
    }

    #[test]
    fn what_is_printed_can_be_scanned() {
        for link in [
            "http://127.0.0.1:40123/attach?at=123456".to_owned(),
            "intoss-private://앱?_deploymentId=0190&debug=1&relay=wss%3A%2F%2Fa-b-c.example.net&at=000000".to_owned(),
            format!("https://h.test/?{}", "x".repeat(600)),
        ] {
            let qr = Qr::new(&Hidden::new(link.clone())).unwrap();
            let plain = qr.draw(QrStyle::Plain);
            assert_eq!(decode(&plain), link);
            assert!(!plain.contains('\x1b'));
            assert!(plain.lines().all(|line| line.chars().count() == qr.columns()));
            assert_eq!(plain.lines().count(), qr.rows());
            assert_eq!(read_picture(&qr.png()), link);
            let shown = qr.draw(QrStyle::Terminal);
            assert_eq!(shown.replace(DARK_ON_LIGHT, "").replace(RESET, ""), plain);
            assert!(shown.lines().all(|line| line.starts_with(DARK_ON_LIGHT) && line.ends_with(RESET)));
        }
    }

    /// O-34
    #[test]
    fn a_usual_link_fits_a_usual_terminal_and_a_small_one_is_named() {
        let qr = Qr::new(&Hidden::new("http://127.0.0.1:40123/attach?at=123456")).unwrap();
        assert_eq!(qr.misfit(80, 24), None);
        let tunnel = "https://four-words-of-it.trycloudflare.com";
        let scheme = "intoss-private://my-app?_deploymentId=0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b&debug=1";
        let relay = "relay=wss%3A%2F%2Ffour-words-of-it.trycloudflare.com&at=123456";
        for link in [format!("{tunnel}/attach?at=123456"), format!("{scheme}&{relay}")] {
            assert!(Qr::new(&Hidden::new(link.clone())).unwrap().columns() <= 60, "{link}");
        }
        let words = qr.misfit(20, 24).unwrap();
        assert!(words.contains(&qr.columns().to_string()) && words.contains("20"), "{words}");
    }

    #[test]
    fn a_link_that_no_code_can_carry_is_an_error() {
        assert!(matches!(Qr::new(&Hidden::new("x".repeat(5000))), Err(AttachError::TooLong)));
    }
}
