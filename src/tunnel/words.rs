//! What a person reads of a tunnel. No host, no address.

use std::time::Duration;

use super::machine::{Answer, Origin};

pub(super) const STARTING: &str = "Starting a cloudflared tunnel.";
pub(super) const NAMING: &str = "The tunnel has an address. Waiting until its name is known.";
pub(super) const PROVING: &str = "The name is known. Waiting until the relay answers through it.";
pub(super) const MOVED: &str = "The tunnel has moved to another address. A new code follows.";

pub(super) fn waiting_for_person(port: u16) -> String {
    format!("Waiting until the given address leads to port {port} of this machine, where the relay listens.")
}

pub(super) fn no_address(limit: Duration) -> String {
    format!("it gave no address within {} s", limit.as_secs_f32())
}

pub(super) fn no_name(limit: Duration, obstacle: &str) -> String {
    format!("the name was not known within {} s ({obstacle})", limit.as_secs_f32())
}

pub(super) fn no_proof(limit: Duration, obstacle: &str) -> String {
    format!("the relay did not answer through it within {} s ({obstacle})", limit.as_secs_f32())
}

pub(super) fn ended(how: &str) -> String {
    format!("it ended with {how}")
}

pub(super) fn answer(answer: &Answer) -> String {
    match answer {
        Answer::Ours => "the relay answered".to_owned(),
        // Cloudflare's own status for a tunnel that nobody serves.
        Answer::Other(530) => "the edge knows no such tunnel, HTTP 530".to_owned(),
        Answer::Other(status) => format!("somebody else answered, HTTP {status}"),
        Answer::Unreachable(why) => why.clone(),
    }
}

pub(super) fn missing(origin: &Origin, what: &Answer) -> String {
    let whose = if *origin == Origin::Program { "tunnel" } else { "given address" };
    format!("The relay cannot be reached by the {whose} ({}). Waiting until it can.", answer(what))
}

pub(super) fn again(cause: &str) -> String {
    format!("The cloudflared tunnel did not come up: {cause}. Starting it again.")
}

pub(super) fn replaced(cause: &str) -> String {
    format!("The cloudflared tunnel is down: {cause}. Starting another one; a new code follows.")
}

pub(super) fn failed(origin: &Origin, cause: &str) -> String {
    match origin {
        Origin::Program => format!(
            "There is no cloudflared tunnel: {cause}. Look whether this network lets cloudflared out, or take \
             --tunnel lan for a phone in the same network, or --tunnel https://my.host for an address of yours"
        ),
        Origin::Person(_, port) => format!(
            "The given address does not lead to the relay: {cause}. Lead it to port {port} of this machine \
             (--relay-port keeps the port the same), or take --tunnel lan for a phone in the same network"
        ),
    }
}
