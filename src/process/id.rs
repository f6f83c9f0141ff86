//! Processes, told apart by pid and start time: a pid alone may be another process's by now.

use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::process::ExitStatus;

use rustix::process::{Pid, Signal, geteuid, kill_process_group, test_kill_process};

/// A process as it was when it was noted down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ProcessId {
    pub(super) pid: u32,
    /// Clock ticks since boot (`/proc/<pid>/stat`, field 22); empty where the system does not tell.
    started: String,
}

impl ProcessId {
    /// The process that has this pid now.
    pub(super) fn of(pid: u32) -> Self {
        Self { pid, started: stat(pid).map(|stat| stat.started).unwrap_or_default() }
    }

    /// Reads what `Display` wrote.
    pub(super) fn parse(line: &str) -> Option<Self> {
        let mut words = line.split_whitespace();
        let pid = words.next()?.parse().ok()?;
        Some(Self { pid, started: words.next().unwrap_or_default().to_owned() })
    }

    /// Whether this very process still runs. One that ended but was not yet reaped does not.
    pub(super) fn is_running(&self) -> bool {
        let exists = pid_of(self.pid).is_some_and(|pid| test_kill_process(pid).is_ok());
        let same = stat(self.pid).is_none_or(|stat| stat.started == self.started && !stat.ended);
        exists && same
    }

    /// Whether it runs as we do, and its arguments or variables hold this name. Not where the system does not tell.
    pub(super) fn is_ours_and_names(&self, name: &OsStr) -> bool {
        let folder = PathBuf::from(format!("/proc/{}", self.pid));
        let is_ours = fs_err::metadata(&folder).is_ok_and(|found| found.uid() == geteuid().as_raw());
        let name = name.as_bytes();
        let names = |file: &str| {
            fs_err::read(folder.join(file)).is_ok_and(|text| text.windows(name.len()).any(|part| part == name))
        };
        is_ours && (names("cmdline") || names("environ"))
    }
}

impl fmt::Display for ProcessId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.pid, self.started)
    }
}

/// `exit status 1`, `killed by signal 9`.
pub fn status_words(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit status {code}"),
        (None, Some(signal)) => format!("killed by signal {signal}"),
        (None, None) => status.to_string(),
    }
}

/// Ends a process group, named by its leader.
pub(super) fn end_group(leader: u32) {
    if let Some(pid) = pid_of(leader) {
        // No such group is what we want.
        let _ = kill_process_group(pid, Signal::KILL);
    }
}

fn pid_of(pid: u32) -> Option<Pid> {
    Pid::from_raw(i32::try_from(pid).ok()?)
}

/// What `/proc` says of a process.
struct Stat {
    /// Clock ticks after boot.
    started: String,
    /// A zombie, or just going.
    ended: bool,
}

/// proc(5): the second field is the name in parentheses and may hold anything, so fields are counted behind its end.
fn stat(pid: u32) -> Option<Stat> {
    let stat = fs_err::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat[stat.rfind(')')? + 1..].split_whitespace();
    let ended = matches!(fields.next()?, "Z" | "X");
    let started = fields.nth(18)?.to_owned();
    Some(Stat { started, ended })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_process_is_known_by_pid_and_start() {
        let own = ProcessId::of(std::process::id());
        assert!(own.is_running());
        let other = ProcessId { pid: own.pid, started: "1".into() };
        assert!(!other.is_running());
        assert_eq!(ProcessId::parse(&own.to_string()), Some(own));
        assert_eq!(ProcessId::parse("x"), None);
    }
}
