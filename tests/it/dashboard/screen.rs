//! A Chrome that shows a dashboard, and what can be done with it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use devtools_test::attach::{AttachPresenter, Invitation, Qr};
use devtools_test::cdp::page::{Page, PageSource};
use devtools_test::cdp::runtime::{EvaluateOptions, evaluate};
use devtools_test::chrome::{ChromeOptions, ChromePages};
use devtools_test::dashboard::Dashboard;
use devtools_test::event::{Events, RunEvent};
use devtools_test::report::{Fold, Reporter};
use devtools_test::secret::Hidden;
use serde_json::{Value, json};

const WITHIN: Duration = Duration::from_secs(20);

/// Notes what the page's policy forbade it.
const WATCH_POLICY: &str = "globalThis.forbidden = []; \
    addEventListener('securitypolicyviolation', (event) => forbidden.push(event.violatedDirective));";

/// What to look at a dashboard with.
pub(super) struct Screen {
    pages: ChromePages,
    page: Page,
}

impl Screen {
    /// Opens an address.
    pub(super) async fn open(address: &str) -> Self {
        let (events, _receiver) = Events::channel();
        let options = ChromeOptions {
            bypass_csp: false,
            browser: None,
            search_path: std::env::var("PATH").ok(),
            no_sandbox: false,
            first_script: None,
            page_url: None,
            navigate_within: WITHIN,
        };
        let mut pages = ChromePages::new(options);
        let page = pages.open(&events).await.unwrap();
        let screen = Self { pages, page };
        screen.call("Page.enable", json!({})).await;
        screen.call("Page.addScriptToEvaluateOnNewDocument", json!({ "source": WATCH_POLICY })).await;
        screen.call("Page.navigate", json!({ "url": address })).await;
        screen.until("document.querySelector('ait-dashboard')?.shadowRoot?.querySelector('#status')").await;
        screen
    }

    pub(super) async fn call(&self, method: &'static str, params: Value) -> Value {
        self.page.session.call(method, params, WITHIN).await.unwrap()
    }

    /// The value of an expression, in which `$` finds the first element that a selector names.
    pub(super) async fn value(&self, expression: &str) -> Value {
        let code = format!(
            "{{ const $ = (s) => document.querySelector('ait-dashboard')?.shadowRoot?.querySelector(s); ({expression}) }}"
        );
        let options = EvaluateOptions { return_by_value: true, await_promise: true, user_gesture: true };
        evaluate(&self.page.session, &code, options, WITHIN).await.unwrap()
    }

    /// Waits until an expression is true, and tells after how many milliseconds it was.
    #[track_caller]
    pub(super) fn until<'a>(&'a self, expression: &'a str) -> impl Future<Output = f64> + 'a {
        let caller = std::panic::Location::caller();
        async move {
            let code = format!(
                "new Promise((done) => {{ const since = performance.now(); const look = () => {{ \
                 let is = false; try {{ is = {expression} }} catch {{}} \
                 const took = performance.now() - since; \
                 if (is) done(took); else if (took > 10000) done(null); else setTimeout(look, 10); }}; look(); }})"
            );
            let took = self.value(&code).await;
            let Some(took) = took.as_f64() else {
                panic!("{caller}: never came true: {expression}\n{}", self.text(":host > *, main").await);
            };
            took
        }
    }

    /// The text of the first element that a selector names.
    pub(super) async fn text(&self, selector: &str) -> String {
        let text = self.value(&format!("$({})?.innerText ?? ''", json!(selector))).await;
        text.as_str().unwrap().to_owned()
    }

    /// Makes the window so wide and high, and of this colour scheme.
    pub(super) async fn shape(&self, width: u32, height: u32, scheme: &str) {
        let metrics = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600 });
        self.call("Emulation.setDeviceMetricsOverride", metrics).await;
        let features = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        self.call("Emulation.setEmulatedMedia", features).await;
    }

    /// Takes a picture of the whole page, to be looked at by a person, and keeps it among what the tests leave.
    pub(super) async fn picture(&self, name: &str) {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("dashboard");
        fs_err::create_dir_all(&folder).unwrap();
        let shot = self.call("Page.captureScreenshot", json!({ "captureBeyondViewport": true })).await;
        fs_err::write(folder.join(format!("{name}.png")), base64(shot["data"].as_str().unwrap())).unwrap();
    }

    /// Takes a picture of an element and what is around it; of the whole page down to its end for `main`.
    pub(super) async fn picture_at(&self, path: &Path, selector: &str) {
        // Pictures have none, and without them everything is a little wider.
        self.call("Emulation.setScrollbarsHidden", json!({ "hidden": true })).await;
        let place = "(({ x, y, width, height }) => ({ x: x - 12, y: y + scrollY - 12, width: width + 24, height: height + 24 }))";
        let mut clip = self.value(&format!("{place}($({}).getBoundingClientRect())", json!(selector))).await;
        if selector == "main" {
            let end = clip["y"].as_f64().unwrap() + clip["height"].as_f64().unwrap();
            clip = json!({ "x": 0, "y": 0, "height": end - 24.0, "width": self.value("innerWidth").await });
        }
        clip["scale"] = json!(1);
        let shot = self.call("Page.captureScreenshot", json!({ "captureBeyondViewport": true, "clip": clip })).await;
        fs_err::write(path, base64(shot["data"].as_str().unwrap())).unwrap();
    }

    /// What a camera reads from a picture of the code on the screen.
    pub(super) async fn scan(&self) -> String {
        let place =
            self.value("(({ x, y, width, height }) => ({ x, y, width, height }))($('#qr').getBoundingClientRect())");
        let mut clip = place.await;
        clip["scale"] = json!(2);
        let shot = self.call("Page.captureScreenshot", json!({ "clip": clip })).await;
        let code = format!(
            "(async () => {{ const image = new Image(); image.src = 'data:image/png;base64,{}'; await image.decode(); \
             const canvas = new OffscreenCanvas(image.width, image.height); const context = canvas.getContext('2d'); \
             context.drawImage(image, 0, 0); \
             const {{ data }} = context.getImageData(0, 0, image.width, image.height); \
             return {{ width: image.width, grey: Array.from({{ length: data.length / 4 }}, (_, at) => data[at * 4]) }}; }})()",
            shot["data"].as_str().unwrap()
        );
        let picture = self.value(&code).await;
        let width = usize::try_from(picture["width"].as_u64().unwrap()).unwrap();
        let grey: Vec<u8> = serde_json::from_value(picture["grey"].clone()).unwrap();
        let pixel = |x: usize, y: usize| grey[y * width + x];
        let mut image = rqrr::PreparedImage::prepare_from_greyscale(width, grey.len() / width, pixel);
        image.detect_grids()[0].decode().unwrap().1
    }

    /// Presses a key.
    pub(super) async fn press(&self, key: &str) {
        let code = json!({ "Tab": 9, "Enter": 13, "Home": 36, "ArrowDown": 40 })[key].clone();
        let text = if key == "Enter" { json!("\r") } else { json!("") };
        for kind in ["keyDown", "keyUp"] {
            let text = if kind == "keyDown" { text.clone() } else { json!("") };
            let event = json!({ "type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code, "text": text });
            self.call("Input.dispatchKeyEvent", event).await;
        }
    }

    pub(super) async fn close(mut self) {
        assert_eq!(self.value("forbidden").await, json!([]), "what the page's policy forbade it");
        self.pages.close().await;
    }
}

/// The bytes behind base64.
fn base64(text: &str) -> Vec<u8> {
    let digit = |c: u8| match c {
        b'A'..=b'Z' => c - b'A',
        b'a'..=b'z' => c - b'a' + 26,
        b'0'..=b'9' => c - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let digits: Vec<u8> = text.bytes().filter(|c| *c != b'=').map(digit).collect();
    let bytes = digits.chunks(4).flat_map(|chunk| {
        let bits = chunk.iter().fold(0_u32, |sum, digit| (sum << 6) | u32::from(*digit)) << (6 * (4 - chunk.len()));
        bits.to_be_bytes()[1..chunk.len()].to_vec()
    });
    bytes.collect()
}

/// Whoever runs tests, with a dashboard that shows them.
pub(super) struct Stage {
    pub(super) dashboard: Dashboard,
    at: u64,
}

impl Stage {
    pub(super) async fn start() -> Self {
        Self { dashboard: Dashboard::start(Some(0)).await.unwrap(), at: 0 }
    }

    pub(super) async fn screen(&self) -> Screen {
        Screen::open(self.dashboard.address().expose()).await
    }

    /// Something happens in the run.
    pub(super) fn tell(&mut self, mut event: Value) {
        self.at += 10;
        event["at"] = json!(self.at);
        let event: RunEvent = serde_json::from_value(event).unwrap();
        self.dashboard.feed().on_event(&event, &Fold::default());
    }

    /// A code is shown.
    pub(super) fn invite(&mut self, link: &str, valid_for: Duration) {
        let link = Hidden::new(link);
        let qr = Qr::new(&link).unwrap();
        self.dashboard.invitations().show(&Invitation { link, qr, valid_for, renewed: false });
    }

    /// The run begins and waits for a page.
    pub(super) fn begin(&mut self) {
        self.tell(json!({ "type": "runStarted", "toolVersion": "0.1.0", "target": "device",
            "cell": { "sdkLine": "2.x", "platform": "ios" }, "startedAt": "2026-01-02T03:04:05.678Z",
            "files": [SUM, STORAGE, BRIDGE] }));
        self.stage("starting", "Starting the relay.");
        self.stage("waiting", "Waiting for a page: scan the QR code.");
    }

    pub(super) fn stage(&mut self, stage: &str, message: &str) {
        self.tell(json!({ "type": "attachState", "stage": stage, "message": message }));
    }

    /// A page attaches.
    pub(super) fn attach(&mut self) {
        self.dashboard.invitations().done();
        self.stage("attached", "The page answers: iPhone, iOS 18.5, Safari 18.5.");
        self.tell(json!({ "type": "pageAttached", "url": "https://mini-app.example/orders?tab=all", "title": "Orders",
            "userAgent": "UA", "engine": "Safari 18.5", "device": "iPhone, iOS 18.5", "appVersion": "5.230.0" }));
    }

    /// Tests run, and one fails.
    pub(super) fn results(&mut self) {
        let file = |name: &str, titles: &[&[&str]]| {
            let id = |path: &[&str]| format!("{name} > {}", path.join(" > "));
            let tests: Vec<Value> =
                titles.iter().map(|path| json!({ "id": id(path), "path": path, "mode": "run" })).collect();
            json!({ "type": "fileStarted", "file": name, "tests": tests })
        };
        let over = |name: &str, path: &[&str], state: &str, more: Value| {
            let mut event = json!({ "type": "testFinished", "file": name, "path": path, "state": state,
                "test": format!("{name} > {}", path.join(" > ")), "durationMs": 12.0 });
            event.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            event
        };
        let counts = |passed: u32, failed: u32| json!({ "passed": passed, "failed": failed, "unsupported": 0, "skipped": 0, "todo": 0 });
        self.tell(file(SUM, &[&["sum", "adds two numbers"], &["sum", "adds nothing"]]));
        self.tell(over(SUM, &["sum", "adds two numbers"], "passed", json!({})));
        self.tell(over(SUM, &["sum", "adds nothing"], "skipped", json!({ "note": "not before the next release" })));
        self.tell(json!({ "type": "fileFinished", "file": SUM, "durationMs": 40.0, "counts": counts(1, 0) }));
        self.tell(file(STORAGE, &[&["storage", "keeps what was set"], &["storage", "forgets what was removed"]]));
        self.tell(json!({ "type": "console", "level": "log", "text": "set {\"theme\":\"dark\"}" }));
        self.tell(json!({ "type": "console", "level": "warning", "text": "<b>quota</b> is nearly reached",
            "location": { "file": STORAGE, "line": 12, "column": 5 } }));
        self.tell(over(STORAGE, &["storage", "keeps what was set"], "failed", json!({ "errors": [{
            "name": "AssertionError", "message": "expected { theme: 'light' } to deeply equal { theme: 'dark' }",
            "kind": "assertion", "diff": "- Expected\n+ Received\n\n  {\n-   \"theme\": \"dark\",\n+   \"theme\": \"light\",\n  }",
            "codeFrame": " --> src/storage.ait.test.ts:14:32\n 13 |   await Storage.setItem('theme', 'dark');\n 14 |   expect(await Storage.all()).toEqual({ theme: 'dark' });\n    |                               ^\n 15 | });",
            "frames": [{ "function": "", "file": STORAGE, "line": 14, "column": 32 }] }] })));
        self.tell(json!({ "type": "testStarted", "file": STORAGE, "attempt": 0,
            "test": format!("{STORAGE} > storage > forgets what was removed"), "path": ["storage", "forgets what was removed"] }));
        self.tell(json!({ "type": "notice", "level": "warning",
            "message": "The page was in the background for 21 s; the clock of the file went on meanwhile." }));
    }

    /// The run ends.
    pub(super) fn end(&mut self) {
        self.tell(
            json!({ "type": "runFinished", "filesPassed": 1, "filesFailed": 1, "filesNotRun": 1, "exceptions": 0,
            "counts": { "passed": 1, "failed": 1, "unsupported": 0, "skipped": 1, "todo": 0 },
            "durationMs": 140.0, "exit": "failed", "reason": "1 test failed" }),
        );
    }
}

const SUM: &str = "src/sum.ait.test.ts";
const STORAGE: &str = "src/storage.ait.test.ts";
const BRIDGE: &str = "src/a/rather/deep/folder/of/features/bridge-permissions.ait.test.ts";
