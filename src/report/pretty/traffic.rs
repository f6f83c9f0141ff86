//! What the page exchanged, for people.

use crate::ident::TestId;
use crate::report::Traffic;
use crate::report::text::{count, line};

use super::style::Paint;

/// The last messages of a failed test, indented below its error; empty where it had none.
pub(super) fn last_messages(traffic: &Traffic, test: &TestId, paint: Paint) -> String {
    let mut out = String::new();
    let mut address = "";
    for (text, url) in traffic.last_of(test) {
        if out.is_empty() {
            out.push_str("\n  last messages:\n");
        }
        if url != address {
            out.push_str(&format!("  {}\n", paint.cyan(line(url))));
            address = url;
        }
        out.push_str(&format!("    {}\n", paint.dim(line(text))));
    }
    out
}

/// `traffic: 3 connections, 120 messages (98 in, 22 out, 14.2 kB)`, and what of it is missing; empty where there was
/// none.
pub(super) fn traffic_line(traffic: &Traffic, paint: Paint) -> String {
    let missing = missing(traffic);
    let total = traffic.total;
    if traffic.connections() == 0 && total.messages() == 0 && missing.is_empty() {
        return String::new();
    }
    let connections = count(traffic.connections(), "connection");
    let messages = many(total.messages(), "message");
    let mut out = format!(
        "traffic: {connections}, {messages} ({} in, {} out, {})",
        total.incoming,
        total.outgoing,
        bytes(total.bytes)
    );
    if !missing.is_empty() {
        out.push_str(&format!("; {}", missing.join("; ")));
    }
    format!("{}\n", paint.dim(line(&out)))
}

fn missing(traffic: &Traffic) -> Vec<String> {
    let mut parts = Vec::new();
    if traffic.lost > 0 {
        parts.push(format!("{} lost on the way", traffic.lost));
    }
    if traffic.cut_short > 0 {
        parts.push(format!("the last of {} that went may be missing", many(traffic.cut_short, "document")));
    }
    if traffic.cut > 0 {
        parts.push(format!("{} cut at --capture-max-payload", many(traffic.cut, "payload")));
    }
    let not_covered: Vec<String> = traffic
        .not_covered()
        .into_iter()
        .map(|(reason, n)| match reason {
            "frame" | "worker" | "shared worker" if n > 1 => format!("{n} {reason}s"),
            _ => format!("{n} {reason}"),
        })
        .collect();
    if !not_covered.is_empty() {
        parts.push(format!("not covered: {}", not_covered.join(", ")));
    }
    if traffic.late_documents() > 0 {
        parts.push(format!("{} recorded only from some time on", count(traffic.late_documents(), "document")));
    }
    parts
}

fn many(n: u64, one: &str) -> String {
    count(usize::try_from(n).unwrap_or(usize::MAX), one)
}

/// `14.2 kB`.
fn bytes(n: u64) -> String {
    let n = n as f64;
    match n {
        n if n < 1000.0 => format!("{n} B"),
        n if n < 1e6 => format!("{:.1} kB", n / 1e3),
        n => format!("{:.1} MB", n / 1e6),
    }
}
