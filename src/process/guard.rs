//! A program that does not outlive us, together with all it starts.

use std::process::{Command, Stdio};
use std::time::Duration;

use process_wrap::tokio::{ChildWrapper, CommandWrap, KillOnDrop, ProcessGroup};
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::task::JoinSet;

use super::{LastLines, status_words};

/// Runs a program with a watcher beside it in its process group. The watcher reads from us and never gets anything;
/// when we are gone, in whatever way, it reads the end and ends the group: politely, and a second later for good.
const GUARD: &str = r#"exec 3<&0 </dev/null
{ read -r _ <&3; trap "" TERM; kill -TERM 0; sleep 1; kill -KILL 0; } >/dev/null 2>&1 &
exec 3<&- "$@""#;

/// How long a program may take to tidy up after itself.
const TIDY_WITHIN: Duration = Duration::from_millis(500);
/// A killed process is gone in milliseconds; one that hangs in the kernel is not waited for.
const END_WITHIN: Duration = Duration::from_secs(1);

/// A program of ours. Dropping it ends it and all it started.
#[derive(Debug)]
pub struct Guarded {
    child: Box<dyn ChildWrapper>,
    last_lines: LastLines,
    readers: JoinSet<()>,
    /// What the watcher reads from.
    _life: Option<ChildStdin>,
}

impl Guarded {
    /// Starts a program: its path, arguments and variables are taken from `command`. Its stdin is empty, its stderr
    /// is read for [`Self::last_lines`].
    ///
    /// # Errors
    /// What the operating system says. A program that is there but cannot be run ends at once.
    pub fn start(command: &Command, stdout: Stdio) -> std::io::Result<Self> {
        Self::start_with(command, stdout, LastLines::default())
    }

    /// The same with lines that are read in a way of their own.
    ///
    /// # Errors
    /// As [`Self::start`].
    pub fn start_with(command: &Command, stdout: Stdio, last_lines: LastLines) -> std::io::Result<Self> {
        let mut guard = Command::new("/bin/sh");
        guard.args(["-c", GUARD, "sh"]).arg(command.get_program()).args(command.get_args());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => guard.env(name, value),
                None => guard.env_remove(name),
            };
        }
        guard.stdin(Stdio::piped()).stdout(stdout).stderr(Stdio::piped());
        let mut wrap = CommandWrap::from(tokio::process::Command::from(guard));
        wrap.wrap(ProcessGroup::leader()).wrap(KillOnDrop);
        let mut child = wrap.spawn()?;
        let mut readers = JoinSet::new();
        if let Some(stderr) = child.stderr().take() {
            readers.spawn(last_lines.clone().read(stderr));
        }
        let life = child.stdin().take();
        Ok(Self { child, last_lines, readers, _life: life })
    }

    /// Its process id, as long as it was not reaped.
    pub fn pid(&self) -> Option<u32> {
        self.child.id()
    }

    /// What it writes to stdout, where that is a pipe; once.
    pub fn take_stdout(&mut self) -> Option<ChildStdout> {
        self.child.stdout().take()
    }

    /// What it wrote to stderr last.
    pub fn last_lines(&self) -> &LastLines {
        &self.last_lines
    }

    /// Waits until it has ended, and says how.
    pub async fn ended(&mut self) -> String {
        let status = self.child.inner_mut().wait().await;
        // The lines are complete once the reader is through with them.
        drop(tokio::time::timeout(END_WITHIN, self.readers.join_next()).await);
        status.map_or_else(|error| error.to_string(), status_words)
    }

    /// Ends it and all it started: politely first.
    pub async fn end(mut self) {
        if let Some(group) = self.pid().and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?)) {
            // No such group is what we want.
            let _ = kill_process_group(group, Signal::TERM);
            drop(tokio::time::timeout(TIDY_WITHIN, self.child.inner_mut().wait()).await);
        }
        drop(self.child.start_kill());
        drop(tokio::time::timeout(END_WITHIN, self.child.wait()).await);
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        drop(self.child.start_kill());
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use tokio::io::{AsyncBufReadExt, BufReader, Lines};

    use super::*;

    const WITHIN: Duration = Duration::from_secs(10);

    fn shell(script: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]).env("DT_GUARDED", "a b");
        command
    }

    fn lines(guarded: &mut Guarded) -> Lines<BufReader<ChildStdout>> {
        BufReader::new(guarded.take_stdout().unwrap()).lines()
    }

    /// Reads to the end: it comes when nobody holds the pipe any more.
    async fn until_nobody_is_left(mut lines: Lines<BufReader<ChildStdout>>) {
        let rest = async { while lines.next_line().await.unwrap().is_some() {} };
        tokio::time::timeout(WITHIN, rest).await.unwrap();
    }

    #[tokio::test]
    async fn a_program_gets_its_arguments_and_its_end_is_told() {
        let mut guarded =
            Guarded::start(&shell("echo \"$DT_GUARDED\"; cat; echo oh >&2; exit 3"), Stdio::piped()).unwrap();
        let mut lines = lines(&mut guarded);
        assert_eq!(lines.next_line().await.unwrap().as_deref(), Some("a b"));
        assert_eq!(guarded.ended().await, "exit status 3");
        assert!(guarded.last_lines().for_message().ends_with("\n  oh"));
        let mut missing = Guarded::start(&Command::new("/no/such/program"), Stdio::null()).unwrap();
        assert_eq!(missing.ended().await, "exit status 127");
    }

    #[tokio::test]
    async fn what_it_started_ends_with_it() {
        let mut guarded = Guarded::start(&shell("sleep 1000 & echo up; wait"), Stdio::piped()).unwrap();
        let mut lines = lines(&mut guarded);
        assert_eq!(lines.next_line().await.unwrap().as_deref(), Some("up"));
        guarded.end().await;
        until_nobody_is_left(lines).await;
    }

    #[tokio::test]
    async fn it_ends_when_we_are_gone_without_a_word() {
        let mut guarded =
            Guarded::start(&shell("trap '' TERM; sleep 1000 & echo up; wait; wait"), Stdio::piped()).unwrap();
        let mut lines = lines(&mut guarded);
        assert_eq!(lines.next_line().await.unwrap().as_deref(), Some("up"));
        // As when we are killed: nobody ends it, but its pipe closes.
        guarded._life = None;
        until_nobody_is_left(lines).await;
    }
}
