//! A second headless Chrome that plays the phone: it opens a link and stays.

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::thread::JoinHandle;

use rustix::process::{Pid, Signal, geteuid, kill_process_group};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_tungstenite::tungstenite::Message;

use futures_util::{SinkExt, StreamExt};

/// Names a Chrome goes by, the small headless one first.
const NAMES: [&str; 5] =
    ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// The Chrome that the tests use: `DEVTOOLS_TEST_BROWSER`, or the first known name on the `PATH`.
pub fn chrome() -> PathBuf {
    if let Some(path) = std::env::var_os("DEVTOOLS_TEST_BROWSER") {
        return path.into();
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let mac = Path::new("/Applications/Google Chrome.app/Contents/MacOS/Google Chrome").to_path_buf();
    NAMES
        .iter()
        .flat_map(|name| folders.iter().map(move |folder| folder.join(name)))
        .chain([mac])
        .find(|candidate| candidate.is_file())
        .expect("a Chrome; scripts/setup installs one")
}

/// How a Chrome says where it can be debugged.
const LISTENING: &str = "DevTools listening on ";

/// Script of a page that its host app opens: it loads the agent from the relay that the page's address names.
pub const LOADS_AGENT: &str = "const asked = new URLSearchParams(location.search);\
    const agent = document.createElement('script');\
    agent.src = `${asked.get('relay').replace('ws', 'http')}/at/${asked.get('at')}/target.js`;\
    document.head.append(agent);";

/// A browser with one page; ended with everything it started when dropped.
#[derive(Debug)]
pub struct Phone {
    child: Child,
    endpoint: String,
    drain: Option<JoinHandle<()>>,
    _profile: TempDir,
}

impl Phone {
    /// Opens the link.
    pub fn open(link: &str) -> Self {
        Self::open_with(link, &[])
    }

    /// Opens the link in a browser with more arguments.
    pub fn open_with(link: &str, args: &[String]) -> Self {
        let profile = tempfile::Builder::new().prefix("dt-phone-").tempdir().unwrap();
        let mut command = Command::new(chrome());
        command
            .args(["--headless", "--remote-debugging-port=0", "--no-first-run", "--disable-gpu"])
            .args(["--disable-background-timer-throttling", "--disable-renderer-backgrounding"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .process_group(0);
        command.args(args);
        if geteuid().is_root() {
            command.arg("--no-sandbox");
        }
        let mut child = command.arg(link).spawn().expect("the second Chrome starts");
        let stderr = BufReader::new(child.stderr.take().expect("standard error is a pipe"));
        let (endpoint, drain) = listening_at(stderr);
        Self { child, endpoint, drain: Some(drain), _profile: profile }
    }

    /// `ws://127.0.0.1:<port>/devtools/browser/<id>`, where it can be debugged.
    pub fn endpoint(&self) -> &str {
        &self.endpoint
    }

    /// Sends a signal to all of it, as when its system suspends it.
    pub fn signal(&self, signal: Signal) {
        kill_process_group(self.group(), signal).expect("the second Chrome runs");
    }

    /// Opens another tab.
    pub fn open_tab(&self, url: &str) {
        self.call(None, "Target.createTarget", json!({ "url": url }));
    }

    /// Evaluates an expression in its first page, as if the person had tapped there.
    pub fn tap(&self, expression: &str) -> Value {
        let targets = self.call(None, "Target.getTargets", json!({}));
        let targets = targets["targetInfos"].as_array().expect("a list");
        let page = targets.iter().find(|info| info["type"] == "page").expect("a page")["targetId"]
            .as_str()
            .expect("an id")
            .to_owned();
        let params = json!({ "expression": expression, "userGesture": true, "returnByValue": true });
        self.call(Some(&page), "Runtime.evaluate", params)["result"]["value"].clone()
    }

    /// One command to the browser or to a page, over a connection of its own.
    fn call(&self, page: Option<&str>, method: &str, params: Value) -> Value {
        let host = self.endpoint.split('/').nth(2).unwrap_or_default();
        let endpoint = page.map_or(self.endpoint.clone(), |page| format!("ws://{host}/devtools/page/{page}"));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let (mut socket, _) = tokio_tungstenite::connect_async(endpoint).await.expect("the second Chrome listens");
            let command = json!({ "id": 1, "method": method, "params": params });
            socket.send(Message::text(command.to_string())).await.unwrap();
            while let Some(Ok(message)) = socket.next().await {
                let reply: Value = serde_json::from_str(message.to_text().unwrap_or_default()).unwrap_or_default();
                if reply["id"] == 1 {
                    assert!(reply.get("error").is_none(), "{method}: {reply}");
                    return reply["result"].clone();
                }
            }
            panic!("{method} was not answered");
        })
    }

    fn group(&self) -> Pid {
        Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap()
    }

    /// The port it can be debugged on.
    pub fn port(&self) -> u16 {
        let address = self.endpoint.split('/').nth(2).unwrap_or_default();
        address.rsplit(':').next().and_then(|port| port.parse().ok()).expect("an endpoint has a port")
    }
}

impl Drop for Phone {
    fn drop(&mut self) {
        let _ = kill_process_group(self.group(), Signal::KILL);
        drop(self.child.wait());
        if let Some(drain) = self.drain.take() {
            drop(drain.join());
        }
    }
}

/// Reads its noise up to the line that says where it listens, and lets a thread read the rest.
fn listening_at(mut stderr: BufReader<ChildStderr>) -> (String, JoinHandle<()>) {
    let mut line = String::new();
    let endpoint = loop {
        line.clear();
        let read = stderr.read_line(&mut line).unwrap();
        assert!(read > 0, "the second Chrome ended before it listened");
        if let Some((_, endpoint)) = line.split_once(LISTENING) {
            break endpoint.trim().to_owned();
        }
    };
    let drain = std::thread::spawn(move || drop(std::io::copy(&mut stderr, &mut std::io::sink())));
    (endpoint, drain)
}
