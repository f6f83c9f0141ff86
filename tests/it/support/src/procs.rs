//! What runs on this machine, as far as `/proc` tells (elsewhere nothing is seen, and the checks that need it pass).

use fs_err as fs;

/// A process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// Its id.
    pub pid: i32,
    /// The id of its parent.
    pub parent: i32,
    /// The session it belongs to; the tool under test leads one of its own.
    pub session: i32,
    /// Its command line.
    pub command: String,
}

/// All living processes (zombies are not) of a session.
pub fn of_session(session: i32) -> Vec<Process> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    pids.filter_map(read).filter(|process| process.session == session).collect()
}

/// One process, if it lives.
pub fn read(pid: i32) -> Option<Process> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may itself hold spaces and parentheses.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    let session = fields.nth(1)?.parse().ok()?;
    let command = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let command = String::from_utf8_lossy(&command).replace('\0', " ").trim_end().to_owned();
    (!matches!(state, "Z" | "X")).then_some(Process { pid, parent, session, command })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn finds_itself() {
        let me = read(i32::try_from(std::process::id()).unwrap()).unwrap();
        assert!(of_session(me.session).contains(&me), "{me:?}");
    }
}
