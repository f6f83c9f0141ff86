//! A timeline as text: a line for each message, with `#` lines that say of which connection and test it is.

use std::io::{self, Read, Seek, Write};

use super::record::{Connection, Coverage, Direction, Message};
use super::selection::Selection;
use super::timeline::Timeline;

/// `12.345 IN [websocket] tick - {"a":1}`: one line whatever the payload holds.
pub fn log_line(message: &Message, ms: f64) -> String {
    let direction = match message.direction {
        Direction::In => "IN",
        Direction::Out => "OUT",
    };
    let kind = one_line(message.kind.as_deref().unwrap_or("message"));
    format!("{ms:.3} {direction} [{}] {kind} - {}", message.protocol.word(), one_line(&message.payload_preview))
}

/// Writes the wanted messages. Times are milliseconds since the first document began.
///
/// # Errors
/// What reading or writing came to.
pub fn write_log<R: Read + Seek>(
    timeline: &mut Timeline<R>,
    selection: &Selection,
    out: &mut dyn Write,
) -> io::Result<()> {
    let began = timeline.began();
    for line in head(timeline) {
        writeln!(out, "# {line}")?;
    }
    let mut connection = None;
    let mut test = None;
    for index in 0..timeline.len() {
        let Some(message) = timeline.wanted(index, selection)? else { continue };
        if message.test != test {
            writeln!(out, "# test {}", message.test.as_deref().map_or("none".into(), one_line))?;
            test.clone_from(&message.test);
        }
        let number = timeline.connection_of(index);
        if connection != Some(number) {
            writeln!(out, "# c{} {}", number + 1, one_line(&timeline.connections()[number].url))?;
            connection = Some(number);
        }
        writeln!(out, "{}", log_line(&message, message.wall_time - began))?;
    }
    for (number, known) in timeline.connections().iter().enumerate() {
        if selection.is_everything() && !known.removed && !known.url.is_empty() {
            writeln!(out, "# c{} {}", number + 1, ending(known))?;
        }
    }
    Ok(())
}

fn head<R: Read + Seek>(timeline: &Timeline<R>) -> Vec<String> {
    let header = timeline.header();
    let text = |key: &str| one_line(header[key].as_str().unwrap_or_default());
    let mut lines = vec![format!("{} {}, started {}", text("tool"), text("toolVersion"), text("startedAt"))];
    lines.extend(timeline.coverage().map(covered));
    if timeline.lost() > 0 {
        lines.push(format!("{} messages were lost on the way", timeline.lost()));
    }
    if timeline.cut_short() > 0 {
        lines.push(format!("documents that went, and whose last messages may be missing: {}", timeline.cut_short()));
    }
    lines
}

fn covered(coverage: &Coverage) -> String {
    let since = if coverage.before_content { "its first script".into() } else { format!("{:.0} ms", coverage.from) };
    let mut line = format!("document {} is recorded since {since}", one_line(&coverage.session));
    let frames = (coverage.frames > 0).then_some(("frame", coverage.frames));
    let others = coverage.not_recorded.iter().map(|(what, count)| (what.as_str(), *count));
    let missing: Vec<String> =
        frames.into_iter().chain(others).map(|(what, n)| format!("{n} x {}", one_line(what))).collect();
    if !missing.is_empty() {
        line.push_str(&format!(", without {}", missing.join(", ")));
    }
    line
}

fn ending(connection: &Connection) -> String {
    let mut line = format!("{} {}", connection.protocol.word(), one_line(&connection.state));
    if let Some(code) = connection.close_code {
        line.push_str(&format!(" with {code}"));
    }
    for (what, text) in [("how", connection.fact("how")), ("reason", connection.fact("reason"))] {
        if !text.is_empty() {
            line.push_str(&format!(", {what} {}", one_line(text)));
        }
    }
    if connection.reconnect_count > 0 {
        line.push_str(&format!(", reconnected {} times", connection.reconnect_count));
    }
    format!("{line}: {}", one_line(&connection.url))
}

/// Control characters, line ends and marks that turn the direction of writing become escapes.
fn one_line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}') => {
                out.push_str(&format!("\\u{:04x}", u32::from(c)));
            }
            c => out.push(c),
        }
    }
    out
}
