//! The QR code as a person's agent captures it.

use support::phone::Phone;

use crate::attach_clock::link;
use crate::tool;

/// What a camera would see of the blocks in this text.
fn scan(text: &str) -> String {
    let is_code = |line: &&str| line.chars().count() > 20 && line.chars().all(|c| " █▀▄".contains(c));
    let lines: Vec<Vec<char>> = text.lines().filter(is_code).map(|line| line.chars().collect()).collect();
    let (scale, border) = (4, 3);
    let side = lines[0].len() + 2 * border;
    let is_dark = |x: usize, y: usize| {
        let (Some(x), Some(y)) = (x.checked_sub(border), y.checked_sub(border)) else { return false };
        let cell = lines.get(y / 2).and_then(|line| line.get(x)).copied().unwrap_or(' ');
        matches!((cell, y % 2), ('█', _) | ('▀', 0) | ('▄', 1))
    };
    let pixel = |x: usize, y: usize| if is_dark(x / scale, y / scale) { 0 } else { 255 };
    let mut image = rqrr::PreparedImage::prepare_from_greyscale(side * scale, side * scale, pixel);
    image.detect_grids()[0].decode().unwrap().1
}

/// O-34: captured by a program, it has no escapes, fits a small terminal, and is read by a decoder that is not ours.
#[test]
fn a_captured_code_can_be_scanned() {
    let project = tempfile::tempdir().unwrap();
    fs_err::write(project.path().join("a.ait.test.ts"), "import { it } from 'vitest';\nit('holds', () => {});\n")
        .unwrap();
    let mut running =
        tool(project.path()).args(["a.ait.test.ts", "--show-url", "--qr-stdout", "--attach-timeout", "60s"]).start();
    let shown = running.wait_for("the attach link", link);
    let phone = Phone::open(&shown);
    let outcome = running.wait();
    drop(phone);
    outcome.expect_code(0);
    assert!(!outcome.stdout.contains('\x1b'), "{}", outcome.stdout);
    assert_eq!(scan(&outcome.stdout), shown);
    let width = outcome.stdout.lines().filter(|line| line.contains('█')).map(|line| line.chars().count()).max();
    assert!(width.is_some_and(|width| width <= 60), "{width:?}");
}
