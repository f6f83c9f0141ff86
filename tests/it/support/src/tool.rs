//! The built tool, run as a person runs it: with a time limit, a temporary folder of its own, and a look at what it
//! leaves behind.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::procs::{self, Process};

/// How long a run may take unless a test says otherwise: far above any healthy one, below the patience of CI.
const PATIENCE: Duration = Duration::from_secs(120);
/// How long after its end the processes of a run may still be dying.
const DYING: Duration = Duration::from_secs(3);
/// How often the process table is looked at.
const LOOK: Duration = Duration::from_millis(20);

/// The tool, about to be run.
#[derive(Debug)]
pub struct Tool {
    command: Command,
    temp: TempDir,
    patience: Duration,
}

impl Tool {
    /// `exe` is `env!("CARGO_BIN_EXE_devtools-test")`, or a link to it. Runs in `dir`, with an environment in which nothing
    /// of ours is set but the choice of the browser.
    pub fn new(exe: impl AsRef<Path>, dir: impl AsRef<Path>) -> Self {
        let temp = tempfile::Builder::new().prefix("dt-it-").tempdir().unwrap();
        // A session of its own is how its processes are found again, whatever becomes of their parents.
        let mut command = if cfg!(target_os = "linux") { Command::new("setsid") } else { Command::new(exe.as_ref()) };
        if cfg!(target_os = "linux") {
            command.arg(exe.as_ref());
        }
        command.current_dir(dir).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        for (name, _) in std::env::vars() {
            let ours = ["AIT_", "DEVTOOLS_TEST_", "CLOUDFLARED_"].iter().any(|start| name.starts_with(start));
            let ci = matches!(name.as_str(), "CI" | "GITHUB_ACTIONS" | "NO_COLOR" | "FORCE_COLOR" | "CLICOLOR_FORCE");
            if (ours && name != "DEVTOOLS_TEST_BROWSER") || ci {
                command.env_remove(name);
            }
        }
        let scratch = temp.path().join("tmp");
        fs_err::create_dir(&scratch).unwrap();
        command.env("TMPDIR", scratch);
        // A cloudflared on this machine must not lead a test out of it.
        command.env("DEVTOOLS_TEST_TUNNEL", "none");
        Self { command, temp, patience: PATIENCE }
    }

    /// More arguments.
    #[must_use]
    pub fn args<S: AsRef<std::ffi::OsStr>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.command.args(args);
        self
    }

    /// A variable of its environment.
    #[must_use]
    pub fn env(mut self, name: &str, value: impl AsRef<std::ffi::OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// How long it may take before the test fails.
    #[must_use]
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Lets the test write to its standard input, which is at its end otherwise.
    #[must_use]
    pub fn listening(mut self) -> Self {
        self.command.stdin(Stdio::piped());
        self
    }

    /// The folder it may write reports to; removed with the outcome.
    pub fn report_dir(&self) -> PathBuf {
        self.temp.path().join("report")
    }

    /// The folder that is its `TMPDIR`.
    pub fn scratch(&self) -> PathBuf {
        self.temp.path().join("tmp")
    }

    /// Starts it.
    pub fn start(mut self) -> Running {
        let started = Instant::now();
        let mut child = self.command.spawn().expect("the tool starts");
        let (lines, heard) = channel();
        let readers = vec![
            read_lines(child.stdout.take().unwrap(), Stream::Out, lines.clone()),
            read_lines(child.stderr.take().unwrap(), Stream::Err, lines),
        ];
        let deadline = started + self.patience;
        Running { child, temp: self.temp, started, deadline, heard, readers, out: String::new(), err: String::new() }
    }

    /// Runs it to its end.
    pub fn run(self) -> Outcome {
        self.start().wait()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stream {
    Out,
    Err,
}

fn read_lines(pipe: impl Read + Send + 'static, stream: Stream, lines: Sender<(Stream, String)>) -> JoinHandle<()> {
    std::thread::spawn(move || {
        let mut pipe = BufReader::new(pipe);
        let mut line = Vec::new();
        while pipe.read_until(b'\n', &mut line).is_ok_and(|n| n > 0) {
            if lines.send((stream, String::from_utf8_lossy(&line).into_owned())).is_err() {
                return;
            }
            line.clear();
        }
    })
}

/// The tool while it runs; killed with everything it started when dropped.
#[derive(Debug)]
pub struct Running {
    child: Child,
    temp: TempDir,
    started: Instant,
    deadline: Instant,
    heard: Receiver<(Stream, String)>,
    readers: Vec<JoinHandle<()>>,
    out: String,
    err: String,
}

impl Running {
    /// Its process id, which is also its session's.
    pub fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).unwrap()
    }

    /// Its standard input, for a tool that is [`Tool::listening`]; dropping it ends that.
    pub fn stdin(&mut self) -> ChildStdin {
        self.child.stdin.take().expect("the tool listens")
    }

    /// The folder that is its `TMPDIR`.
    pub fn scratch(&self) -> PathBuf {
        self.temp.path().join("tmp")
    }

    /// Everything it started that lives, itself included.
    pub fn processes(&self) -> Vec<Process> {
        procs::of_session(self.pid())
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_raw(self.pid()).unwrap(), signal).expect("the tool still runs");
    }

    /// Waits until it wrote a line that `wanted` takes, on either stream, and gives what it makes of it.
    pub fn wait_for<T>(&mut self, what: &str, mut wanted: impl FnMut(&str) -> Option<T>) -> T {
        loop {
            let left = self.deadline.saturating_duration_since(Instant::now());
            match self.heard.recv_timeout(left) {
                Ok((stream, line)) => {
                    let found = wanted(line.trim_end());
                    self.keep(stream, &line);
                    if let Some(found) = found {
                        return found;
                    }
                }
                Err(_) => panic!("waited for {what}\n{}", self.transcript()),
            }
        }
    }

    /// Waits for its end.
    pub fn wait(mut self) -> Outcome {
        let mut in_time = true;
        loop {
            match self.heard.recv_timeout(self.deadline.saturating_duration_since(Instant::now())) {
                Ok((stream, line)) => self.keep(stream, &line),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    in_time = false;
                    break;
                }
            }
        }
        assert!(in_time, "the tool did not end within {:?}\n{}", self.started.elapsed(), self.transcript());
        let status = self.child.wait().unwrap();
        let took = self.started.elapsed();
        let left_behind = self.left_behind();
        let temp = std::mem::replace(&mut self.temp, tempfile::tempdir().unwrap());
        let (stdout, stderr) = (std::mem::take(&mut self.out), std::mem::take(&mut self.err));
        Outcome { code: status.code(), stdout, stderr, took, left_behind, temp }
    }

    fn left_behind(&self) -> Vec<Process> {
        let deadline = Instant::now() + DYING;
        loop {
            let left = self.processes();
            if left.is_empty() || Instant::now() > deadline {
                return left;
            }
            std::thread::sleep(LOOK);
        }
    }

    fn keep(&mut self, stream: Stream, line: &str) {
        match stream {
            Stream::Out => self.out.push_str(line),
            Stream::Err => self.err.push_str(line),
        }
    }

    fn transcript(&self) -> String {
        format!("--- stdout\n{}\n--- stderr\n{}", self.out, self.err)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        for process in self.processes() {
            let _ = kill_process(Pid::from_raw(process.pid).unwrap(), Signal::KILL);
        }
        drop(self.child.kill());
        drop(self.child.wait());
        for reader in self.readers.drain(..) {
            drop(reader.join());
        }
    }
}

/// How a run of the tool ended.
#[derive(Debug)]
pub struct Outcome {
    /// Exit code; none when a signal ended it.
    pub code: Option<i32>,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
    /// From start to end.
    pub took: Duration,
    /// Processes of its session that still lived three seconds after its end.
    pub left_behind: Vec<Process>,
    temp: TempDir,
}

impl Outcome {
    /// Fails unless it ended with this code and left no process behind.
    #[track_caller]
    pub fn expect_code(&self, code: i32) -> &Self {
        assert_eq!(self.code, Some(code), "exit code\n{}", self.transcript());
        assert_eq!(self.left_behind, [], "processes left behind\n{}", self.transcript());
        self
    }

    /// Both streams, for a message.
    pub fn transcript(&self) -> String {
        format!("--- stdout\n{}\n--- stderr\n{}", self.stdout, self.stderr)
    }

    /// The events of `--reporter json`, or those of them that are objects.
    pub fn events(&self) -> Vec<serde_json::Value> {
        self.stdout.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// The one artifact `*.json` in its report folder.
    #[track_caller]
    pub fn artifact(&self) -> serde_json::Value {
        let found: Vec<PathBuf> = fs_err::read_dir(self.report_dir())
            .unwrap_or_else(|error| panic!("{error}\n{}", self.transcript()))
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
            .collect();
        let [path] = &found[..] else { panic!("one artifact: {found:?}\n{}", self.transcript()) };
        serde_json::from_slice(&fs_err::read(path).unwrap()).expect("the artifact is JSON")
    }

    /// The folder it wrote reports to, if it was told to with [`Tool::report_dir`].
    pub fn report_dir(&self) -> PathBuf {
        self.temp.path().join("report")
    }

    /// The folder that was its `TMPDIR`.
    pub fn scratch(&self) -> PathBuf {
        self.temp.path().join("tmp")
    }
}
