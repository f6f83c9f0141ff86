//! From what was seen to a verdict. Pure.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::diagnosis::{Check, Verdict};
use crate::secret::{SECRET_FILE, SECRET_VARIABLE};

/// Clocks that differ by one step of a code still understand each other.
const CLOCK_FINE: u64 = 30;
/// What to type to make a secret.
const INIT: &str = "devtools-test secret init";

/// What the secret's variable holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum VariableSeen {
    Unset,
    Secret,
    Nonsense,
}

/// What the secret's file is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FileSeen {
    pub(super) path: PathBuf,
    pub(super) mode: Option<u32>,
    pub(super) holds_secret: bool,
    /// Others than the owner may use it.
    pub(super) open: bool,
    /// The variable holds the same secret.
    pub(super) same: bool,
    /// Git ignores it; `None` outside a repository.
    pub(super) ignored: Option<bool>,
}

/// What was seen of the secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SecretSeen {
    pub(super) variable: VariableSeen,
    /// `Err`: it is there and cannot be read, in words.
    pub(super) file: Result<Option<FileSeen>, String>,
}

pub(super) fn secret(seen: &SecretSeen) -> Check {
    const NAME: &str = "secret";
    const FORM: &str = "hex digits, an even number, 32 or more";
    let by_variable = seen.variable == VariableSeen::Secret;
    if seen.variable == VariableSeen::Nonsense {
        return Check::failed(NAME, format!("{SECRET_VARIABLE} is set but is no secret ({FORM})"))
            .next(format!("unset it, and make one with `{INIT}`"));
    }
    let file = match &seen.file {
        Ok(Some(file)) => file,
        Ok(None) if by_variable => return Check::ok(NAME, format!("{SECRET_VARIABLE} holds one")),
        Ok(None) => {
            let found = format!("neither {SECRET_VARIABLE} nor {SECRET_FILE}: every run makes one of its own");
            return Check::ok(NAME, found).next(format!("apps that know their secret need it here too: `{INIT}`"));
        }
        Err(why) => return Check::failed(NAME, why.clone()).next("mend its permissions"),
    };
    let path = file.path.display();
    let mode = file.mode.map(|mode| format!(", mode {mode:03o}")).unwrap_or_default();
    if !file.holds_secret && !by_variable {
        return Check::failed(NAME, format!("{path} holds no secret ({FORM})"))
            .next(format!("remove it and run `{INIT}`"));
    }
    if file.open {
        let check = if by_variable { Check::warning } else { Check::failed };
        return check(NAME, format!("{path} is open to others{mode}")).next(format!("chmod 600 {path}"));
    }
    if file.ignored == Some(false) {
        return Check::warning(NAME, format!("{path} is not ignored by git"))
            .next(format!("run `{INIT}`, which adds the line {SECRET_FILE} to .gitignore"));
    }
    if by_variable && !file.same {
        return Check::warning(NAME, format!("{SECRET_VARIABLE} goes over {path}, which holds another secret"))
            .next("apps built with the one in the file are refused: unset the variable, or give both the same");
    }
    Check::ok(NAME, if by_variable { format!("{SECRET_VARIABLE} holds one") } else { format!("{path}{mode}") })
}

/// Seconds by which other clocks are ahead of ours, or why that is not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ClockSeen {
    /// Our relay's, seen over the loopback.
    pub(super) relay: Result<i64, String>,
    /// That of somebody else; `None` where nobody was to be asked.
    pub(super) outside: Option<OutsideClock>,
}

/// The clock of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OutsideClock {
    /// Its name.
    pub(super) of: String,
    /// Seconds by which it is ahead of ours.
    pub(super) ahead: Result<i64, String>,
}

pub(super) fn clock(seen: &ClockSeen) -> Check {
    const NAME: &str = "clock";
    let relay = match &seen.relay {
        Ok(ahead) if ahead.unsigned_abs() <= 1 => "agrees with the relay's",
        Ok(ahead) => {
            return Check::failed(NAME, format!("jumps: within a moment it moved by {ahead} s"))
                .next("let one time service alone set it");
        }
        Err(why) => return Check::failed(NAME, format!("the relay did not tell the time: {why}")),
    };
    match &seen.outside {
        None => Check::ok(NAME, format!("{relay}; nobody else was asked")),
        // Whoever is offline has a clock all the same.
        Some(OutsideClock { of, ahead: Err(why) }) => {
            Check::ok(NAME, format!("{relay}; what others say is not known ({of}: {why})"))
        }
        Some(OutsideClock { of, ahead: Ok(ahead) }) if ahead.unsigned_abs() <= CLOCK_FINE => {
            Check::ok(NAME, format!("{relay}, and with that of {of} to {} s", ahead.unsigned_abs()))
        }
        Some(OutsideClock { of, ahead: Ok(ahead) }) => {
            let way = if *ahead > 0 { "slow" } else { "fast" };
            let found = format!("{} s {way}, by the clock of {of}", ahead.unsigned_abs());
            Check::warning(NAME, found).next("set it by a time server: codes made elsewhere may be refused")
        }
    }
}

/// Ports: the usual one, and the first of the usual range that is free.
pub(super) fn ports(usual: u16, free: Option<u16>) -> Check {
    const NAME: &str = "ports";
    match free {
        Some(port) if port == usual => Check::ok(NAME, format!("the dashboard gets {usual}")),
        Some(port) => Check::ok(NAME, format!("{usual} is taken; the dashboard gets {port}")),
        None => Check::warning(NAME, format!("{usual} and the twenty after it are taken"))
            .next("the dashboard gets a port that is different each time; end what holds the others"),
    }
}

/// A program that was looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ProgramSeen {
    /// It is there and says its version.
    Works { path: PathBuf, version: String },
    /// It is there, and that is all it is.
    Broken { why: String },
    /// One was asked for by this option or variable and is not there.
    NotThere { path: PathBuf, asked: &'static str },
    /// None was asked for and none was found.
    NotFound,
}

impl ProgramSeen {
    fn or_else(&self, name: &'static str, remedy: &str, not_found: impl FnOnce() -> Check) -> Check {
        match self {
            Self::Works { path, version } => Check::ok(name, format!("{version} ({})", path.display())),
            Self::Broken { why } => Check::failed(name, why.clone()).next(remedy),
            Self::NotThere { path, asked } => {
                Check::failed(name, format!("there is nothing at {} ({asked})", path.display()))
                    .next(format!("give another path with {asked}, or leave it out"))
            }
            Self::NotFound => not_found(),
        }
    }
}

/// Whether the relay was reached from outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Reached {
    /// There is no way that could be tried.
    NotTried,
    /// There is an address, and nobody said to which port it leads.
    Portless,
    /// How long it took, or why it was not.
    Tried {
        took: Result<Duration, String>,
        /// A person asked for this way, so that a run without it fails.
        asked: bool,
        /// By the tunnel program, and not by an address that a person has.
        by_program: bool,
    },
}

pub(super) fn tunnel(seen: &ProgramSeen, reached: &Reached) -> Check {
    const NAME: &str = "tunnel";
    let tried = match reached {
        Reached::NotTried => None,
        Reached::Portless => {
            return Check::skipped(NAME, "the address of --tunnel was not tried")
                .next("say with --relay-port to which port of this machine it leads");
        }
        Reached::Tried { took, asked, by_program } => Some((took, asked, by_program)),
    };
    if let Some((took, _, false)) = tried {
        return match took {
            Ok(took) => Check::ok(NAME, format!("our relay answers at the address of --tunnel ({})", seconds(*took))),
            Err(why) => Check::failed(NAME, format!("the address of --tunnel does not lead to our relay: {why}"))
                .next("lead it to --relay-port, or leave it out to have cloudflared open one"),
        };
    }
    let check =
        seen.or_else(NAME, "install cloudflared anew, or give the address of another tunnel with --tunnel", || {
            Check::warning(NAME, "cloudflared was not found").next(
                "install it to reach phones outside your network, or give the address of another tunnel with --tunnel",
            )
        });
    match tried {
        Some((Ok(took), ..)) => {
            Check { found: format!("{}; our relay answered through it after {}", check.found, seconds(*took)), ..check }
        }
        Some((Err(why), asked, _)) if check.verdict == Verdict::Ok => {
            let made = if *asked { Check::failed } else { Check::warning };
            made(NAME, format!("{}; it does not lead to our relay: {why}", check.found))
                .next("try it again, or reach phones another way: --tunnel lan, or an address of yours")
        }
        _ => check,
    }
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

pub(super) fn chrome(seen: &ProgramSeen) -> Check {
    const NAME: &str = "chrome";
    seen.or_else(NAME, "start it by hand to see why, or choose another with --browser", || {
        Check::warning(NAME, "no Chrome or Chromium was found")
            .next("--target chrome needs one (on Debian: apt-get install chromium-headless-shell)")
    })
}

/// What a run in a WebKit needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct WebkitSeen {
    /// Its driver.
    pub(super) driver: ProgramSeen,
    /// What else was found: the browser, and what makes a display.
    pub(super) others: Vec<PathBuf>,
    /// What is missing, with the remedy.
    pub(super) lacks: Option<String>,
}

pub(super) fn webkit(seen: &WebkitSeen) -> Check {
    const NAME: &str = "webkit";
    let check = seen.driver.or_else(NAME, "start it by hand to see why", || {
        Check::skipped(NAME, "no WebKit driver was found; only --target webkit needs one")
            .next("on Debian: apt-get install webkit2gtk-driver xvfb; on macOS: safaridriver --enable")
    });
    match &seen.lacks {
        Some(lacks) if check.verdict == Verdict::Ok => {
            Check::warning(NAME, format!("{}, but {lacks}", check.found)).next("only --target webkit needs it")
        }
        _ => {
            let others: String = seen.others.iter().map(|path| format!(", {}", path.display())).collect();
            Check { found: check.found.clone() + &others, ..check }
        }
    }
}

/// What the relay did when it was tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RelaySeen {
    /// A page with a right code: how long until it was welcome.
    pub(super) right_code: Result<Duration, String>,
    /// A page with a wrong one: the code it was closed with.
    pub(super) wrong_code: Result<u16, String>,
    /// Size of the agent it hands out.
    pub(super) agent_bytes: Result<usize, String>,
}

/// Close code of a refused page.
const REJECTED: u16 = 4401;

pub(super) fn relay(seen: &Result<RelaySeen, String>) -> Check {
    const NAME: &str = "relay";
    let next = "something on this machine stands between programs and 127.0.0.1: look at its firewall and proxy";
    let failed = |why: String| Check::failed(NAME, why).next(next);
    match seen {
        Err(why) => failed(why.clone()),
        Ok(RelaySeen { right_code: Err(why), .. }) => failed(format!("a page with a right code did not get in: {why}")),
        Ok(RelaySeen { wrong_code: Err(why), .. }) => failed(format!("a page with a wrong code: {why}")),
        Ok(RelaySeen { wrong_code: Ok(code), .. }) if *code != REJECTED => {
            failed(format!("a page with a wrong code was closed with {code} and not {REJECTED}"))
        }
        Ok(RelaySeen { agent_bytes: Err(why), .. }) => failed(format!("it did not hand out the agent: {why}")),
        Ok(RelaySeen { right_code: Ok(took), agent_bytes: Ok(bytes), .. }) => Check::ok(
            NAME,
            format!(
                "lets a right code in ({} ms), turns a wrong one away (4401), hands out the agent ({} KiB)",
                took.as_millis().max(1),
                bytes.div_ceil(1024)
            ),
        ),
    }
}

/// What a run wrote into a pipe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StdoutSeen {
    /// Stdout of a run that reports JSON lines, or why there is none.
    pub(super) written: Result<Vec<u8>, String>,
    /// A variable that asks for colours in pipes.
    pub(super) forced: Option<&'static str>,
}

pub(super) fn stdout(seen: &StdoutSeen) -> Check {
    const NAME: &str = "stdout";
    let written = match &seen.written {
        Ok(written) => written,
        Err(why) => return Check::failed(NAME, format!("a run into a pipe could not be tried: {why}")),
    };
    let lines = written.split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
    let odd = |line: &&[u8]| serde_json::from_slice::<serde_json::Map<String, serde_json::Value>>(line).is_err();
    let (all, odd) = lines.fold((0, 0), |(all, bad), line| (all + 1, bad + usize::from(odd(&line))));
    if all == 0 {
        return Check::failed(NAME, "--reporter json wrote nothing into a pipe");
    }
    if odd > 0 {
        return Check::failed(
            NAME,
            format!("of {all} lines that --reporter json wrote into a pipe, {odd} are no JSON"),
        )
        .next("something writes to stdout before or beside the tool: look at wrappers and shell start files");
    }
    match seen.forced {
        Some(variable) => Check::warning(NAME, format!("{variable} is set: the pretty report colours pipes, too"))
            .next(format!("unset {variable} where programs read it, or give --color never")),
        None => Check::ok(NAME, format!("--reporter json writes JSON lines into a pipe and nothing else ({all})")),
    }
}

pub(super) fn temp(folder: &Path, written: &Result<(), String>) -> Check {
    const NAME: &str = "temp";
    match written {
        Ok(()) => Check::ok(NAME, format!("{} can be written to", folder.display())),
        Err(why) => Check::failed(NAME, format!("{} cannot be written to: {why}", folder.display()))
            .next("give another folder with TMPDIR, or make room on the disk"),
    }
}

#[cfg(test)]
mod tests;
