//! Our relay against npm's chii, side by side in one run: the same page and the same client behind both, and behind one
//! bare WebSocket. Ratios say more than seconds on a shared machine.
//!
//! `scripts/bench relay` runs it with `CHII` set to chii's folder; `--rounds N` sets how often everything is measured.
#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs, reason = "a program for the terminal")]

mod memory;
mod page;
mod way;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use async_compression::tokio::bufread::GzipEncoder;
use devtools_test::assets;
use devtools_test::cdp::Session;
use futures_util::future::join_all;
use memory::Memory;
use serde::Serialize;
use serde_json::value::RawValue;
use tokio::io::AsyncReadExt;
use way::{WITHIN, Way};

const ROUNDS: usize = 3;
/// Commands whose time is not taken, until everything is warm.
const WARM_UP: usize = 2_000;
/// Commands in a row, each sent when the one before was answered.
const TRIPS: usize = 5_000;
/// Commands that are on the way at the same time.
const AT_ONCE: usize = 32;
/// Commands of each of them.
const IN_A_ROW: usize = 1_500;
/// Mebibytes of a command, whose answer is as long, and how often.
const SIZES: [(usize, usize); 3] = [(1, 15), (10, 5), (50, 2)];

/// The parameters of `Runtime.evaluate`.
#[derive(Serialize)]
struct Expression<'a> {
    expression: &'a str,
}

/// What was measured of one way.
#[derive(Default)]
struct Measured {
    trips: Vec<Duration>,
    /// Commands a second, [`AT_ONCE`] at once.
    rates: Vec<f64>,
    sizes: [Vec<Duration>; SIZES.len()],
}

#[tokio::main]
async fn main() {
    if std::env::args().any(|argument| argument == memory::STALL) {
        return memory::stall().await;
    }
    let chii = std::env::var_os("CHII").map(PathBuf::from);
    let script = chii.as_ref().map(|chii| chii.join("bin/chii.js").to_str().unwrap().to_owned());
    let mut ways = vec![("bare WebSocket", Way::Bare), ("our relay", Way::Ours)];
    ways.extend(script.as_deref().map(|script| ("chii", Way::Chii(script))));
    let mut measured: Vec<Measured> = ways.iter().map(|_| Measured::default()).collect();
    for _ in 0..rounds() {
        for ((_, way), measured) in ways.iter().zip(&mut measured) {
            measure(&way.open().await.client.root(), measured).await;
        }
    }
    print_times(&ways, &measured);
    let mut memories = vec![("ours", memory::ours().await, gzipped(assets::AGENT.as_bytes()).await)];
    if let (Some(chii), Some(script)) = (&chii, &script) {
        let agent = std::fs::read(chii.join("public/target.js")).unwrap();
        memories.push(("chii", memory::chii(script).await, gzipped(&agent).await));
    }
    print_memory(&memories);
}

fn rounds() -> usize {
    let mut arguments = std::env::args().skip_while(|argument| argument != "--rounds").skip(1);
    arguments.next().and_then(|n| n.parse().ok()).filter(|n| (1..=100).contains(n)).unwrap_or(ROUNDS)
}

async fn measure(session: &Session, measured: &mut Measured) {
    in_a_row(session, WARM_UP).await;
    measured.trips.extend(in_a_row(session, TRIPS).await);
    let since = Instant::now();
    join_all((0..AT_ONCE).map(|_| in_a_row(session, IN_A_ROW))).await;
    measured.rates.push((AT_ONCE * IN_A_ROW) as f64 / since.elapsed().as_secs_f64());
    for (&(mebibytes, times), took) in SIZES.iter().zip(&mut measured.sizes) {
        let long = "x".repeat(mebibytes << 20);
        for _ in 0..times {
            took.push(trip(session, &long).await);
        }
    }
}

async fn in_a_row(session: &Session, times: usize) -> Vec<Duration> {
    let mut took = Vec::with_capacity(times);
    for _ in 0..times {
        took.push(trip(session, "1 + 1").await);
    }
    took
}

async fn trip(session: &Session, expression: &str) -> Duration {
    let since = Instant::now();
    let answer: Box<RawValue> = session.call("Runtime.evaluate", Expression { expression }, WITHIN).await.unwrap();
    let took = since.elapsed();
    assert_eq!(answer.get().len(), expression.len() + r#"{"value":""}"#.len());
    took
}

async fn gzipped(script: &[u8]) -> usize {
    let mut out = Vec::new();
    GzipEncoder::new(script).read_to_end(&mut out).await.unwrap();
    out.len()
}

/// The value below which `part` of all lie.
fn quantile<T: Copy + PartialOrd>(all: &[T], part: f64) -> T {
    let mut all = all.to_vec();
    all.sort_by(|a, b| a.partial_cmp(b).unwrap());
    all[((all.len() as f64 * part) as usize).min(all.len() - 1)]
}

fn print_times(ways: &[(&str, Way<'_>)], measured: &[Measured]) {
    println!(
        "\n| way | round trip p50 | p99 | calls a second, {AT_ONCE} at once | 1 MiB both ways | 10 MiB | 50 MiB |"
    );
    println!("|---|---|---|---|---|---|---|");
    for ((name, _), all) in ways.iter().zip(measured) {
        let us = |part| quantile(&all.trips, part).as_secs_f64() * 1e6;
        let rate = quantile(&all.rates, 0.5);
        let [one, ten, fifty] = all.sizes.each_ref().map(|took| quantile(took, 0.5).as_secs_f64() * 1e3);
        println!(
            "| {name} | {:.0} µs | {:.0} µs | {rate:.0} | {one:.1} ms | {ten:.0} ms | {fifty:.0} ms |",
            us(0.5),
            us(0.99)
        );
    }
}

fn print_memory(all: &[(&str, Memory, usize)]) {
    println!("\n| | idle | {} pages | peak with a stalled client | script in the page, gzipped |", memory::PAGES);
    println!("|---|---|---|---|---|");
    for (name, Memory { idle, pages, stalled }, agent) in all {
        let [idle, pages, stalled] = [idle, pages, stalled].map(|kib| *kib as f64 / 1024.0);
        let agent = *agent as f64 / 1024.0;
        println!("| {name} | {idle:.0} MiB | {pages:.0} MiB | {stalled:.0} MiB | {agent:.1} KiB |");
    }
}
