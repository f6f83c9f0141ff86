//! A page in a real browser that dials into the relay, and what is said through it.

mod badge;
mod doors;
mod gate;
mod limits;
mod loss;
mod policy;
mod stock;
mod stream;
mod which;

use std::time::Duration;

use devtools_test::assets;
use devtools_test::attach::{AttachPresenter, DeviceOptions, DevicePages, Invitation, LinkKind, Reach, Waiting};
use devtools_test::cdp::page::{Page, PageSource};
use devtools_test::cdp::runtime::{
    self, BindingCalled, ConsoleApiCalled, EvaluateError, EvaluateOptions, ExceptionThrown,
};
use devtools_test::cdp::{CdpError, CdpEvent, EventStream};
use devtools_test::event::{EventKind, Events, RunEvent};
use devtools_test::relay::{Choice, DEFAULT_KEEP_ALIVE, RelayOptions};
use devtools_test::secret::{Hidden, Secret};
use devtools_test::webkit::{Webkit, WebkitOptions};
use serde_json::{Value, json};
use support::phone::Phone;
use tokio::sync::mpsc;
use tokio::time::timeout;

/// Longer than anything here takes on a busy machine.
const WITHIN: Duration = Duration::from_secs(30);

/// Hands on the links that a person would scan.
struct Links(mpsc::UnboundedSender<String>);

impl AttachPresenter for Links {
    fn show(&mut self, invitation: &Invitation) {
        let _ = self.0.send(invitation.link.expose().to_owned());
    }
    fn waiting(&mut self, _: &Waiting) {}
    fn done(&mut self) {}
}

/// A relay that waits for pages, and what a person sees of it.
pub(crate) struct Desk {
    pub(crate) pages: DevicePages,
    pub(crate) links: mpsc::UnboundedReceiver<String>,
    pub(crate) events: Events,
    told: mpsc::Receiver<RunEvent>,
}

impl Desk {
    fn new(attach_timeout: Duration) -> Self {
        Self::behind(Reach::LOOPBACK, attach_timeout)
    }

    /// With a way to the relay that is not its own address.
    pub(crate) fn behind(reach: Reach, attach_timeout: Duration) -> Self {
        let (sender, links) = mpsc::unbounded_channel();
        let (events, told) = Events::channel();
        let options = DeviceOptions {
            secret: Secret::random().unwrap(),
            agent: assets::AGENT.into(),
            link: LinkKind::Hosted,
            app: None,
            reach,
            choice: Choice::default(),
            keep_alive: DEFAULT_KEEP_ALIVE,
            attach_timeout: Some(attach_timeout),
        };
        let pages = DevicePages::new(options, Box::new(Links(sender)));
        Self { pages, links, events, told }
    }

    /// Opens the shown link in a browser as soon as it is there.
    async fn attach(&mut self) -> (Page, Phone) {
        let Self { pages, links, events, .. } = self;
        let scan = async { Phone::open(&links.recv().await.unwrap()) };
        let (page, phone) = tokio::join!(pages.open(events), scan);
        (page.unwrap(), phone)
    }

    /// The same in a WebKit.
    async fn attach_webkit(&mut self) -> (Page, Webkit) {
        let Self { pages, links, events, .. } = self;
        let mut webkit = Webkit::new(WebkitOptions { search_path: std::env::var("PATH").ok(), ..Default::default() });
        let open = async { webkit.open(&Hidden::new(links.recv().await.unwrap())).await.unwrap() };
        let (page, ()) = tokio::join!(pages.open(events), open);
        (page.unwrap(), webkit)
    }

    /// Waits for a notice with these words.
    pub(crate) async fn notice(&mut self, words: &str) -> String {
        let found = async {
            loop {
                let event = self.told.recv().await.expect("the desk lives");
                if let EventKind::Notice { message, .. } = event.kind
                    && message.contains(words)
                {
                    return message;
                }
            }
        };
        timeout(WITHIN, found).await.unwrap_or_else(|_| panic!("nobody said {words}"))
    }

    /// What was said so far, as text.
    pub(crate) fn told(&mut self) -> Vec<(String, String)> {
        let mut said = Vec::new();
        while let Ok(event) = self.told.try_recv() {
            if let EventKind::AttachState { stage, message } = event.kind {
                said.push((format!("{stage:?}"), message));
            }
        }
        said
    }
}

pub(crate) async fn value(page: &Page, expression: &str) -> Value {
    let options = EvaluateOptions { return_by_value: true, await_promise: true, ..EvaluateOptions::default() };
    runtime::evaluate(&page.session, expression, options, WITHIN).await.unwrap()
}

/// The next event of this method.
async fn next(stream: &mut EventStream, method: &str) -> CdpEvent {
    let found = async {
        loop {
            let event = stream.next().await.expect("the session lives");
            if event.method == method {
                return event;
            }
        }
    };
    timeout(WITHIN, found).await.unwrap_or_else(|_| panic!("{method} did not come"))
}

async fn call(page: &Page, method: &'static str, params: Value) -> Value {
    page.session.call(method, params, WITHIN).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_attached_chrome_behaves() {
    let mut desk = Desk::new(WITHIN);
    let (page, _phone) = desk.attach().await;
    assert!(page.info.engine.starts_with("Chrome "), "{:?}", page.info);
    behaves(&mut desk, &page).await;
    desk.pages.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_attached_webkit_behaves() {
    let mut desk = Desk::new(WITHIN);
    let (page, mut webkit) = desk.attach_webkit().await;
    assert!(page.info.engine.starts_with("Safari "), "{:?}", page.info);
    behaves(&mut desk, &page).await;
    desk.pages.close().await;
    webkit.close().await;
}

/// As Chrome's own endpoint does, whatever the engine.
async fn behaves(desk: &mut Desk, page: &Page) {
    assert!(page.info.url.ends_with("/attach") && page.info.title == "devtools-test", "{:?}", page.info);
    let stages: Vec<String> = desk.told().into_iter().map(|(stage, _)| stage).collect();
    assert_eq!(stages, ["Starting", "Waiting", "Accepted", "AgentLoaded", "Attached"]);
    tells_what_it_does(page).await;
    evaluates(page).await;
    holds_objects(page).await;
}

async fn evaluates(page: &Page) {
    assert_eq!(value(page, "location.search + location.pathname").await, json!("/attach"));
    assert_eq!(value(page, "isSecureContext && localStorage.length").await, json!(0));
    let data = "({ a: [1, null, undefined, 'ü\\u0000\\ud83d\\ude00'], f() {}, g: undefined, n: NaN, d: new Date(0) })";
    let expected = json!({ "a": [1, null, null, "ü\u{0}😀"], "f": {}, "n": null, "d": {} });
    assert_eq!(value(page, data).await, expected);
    assert_eq!(value(page, "globalThis.n = (globalThis.n ?? 0) + 1").await, json!(1));
    assert_eq!(value(page, "new Promise((done) => setTimeout(done, 10, globalThis.n))").await, json!(1));
    assert_eq!(value(page, "'x'.repeat(3 << 20).length").await, json!(3 << 20));
    let long = value(page, &format!("'{}'", "é".repeat(1 << 20))).await;
    assert_eq!(long.as_str().unwrap().chars().count(), 1 << 20);

    // What throws is run once, and says where.
    let failed = runtime::evaluate(
        &page.session,
        "globalThis.n++;\n  throw new TypeError('no\\nway')\n//# sourceURL=ait-test://script.js",
        EvaluateOptions::default(),
        WITHIN,
    );
    let Err(EvaluateError::Exception(details)) = failed.await else { panic!("it throws") };
    assert_eq!(details.text, "Uncaught");
    // JavaScriptCore names the place where the constructor is called.
    assert_eq!(details.line_number, 1);
    assert!([8, 21].contains(&details.column_number), "{details:?}");
    let error = details.exception.as_ref().unwrap();
    assert!(error.description.starts_with("TypeError: no\nway\n    at "), "{}", error.description);
    let frames = details.stack_trace.as_ref().unwrap().page_frames();
    assert_eq!((frames.len(), frames[0].url.as_str(), frames[0].line), (1, "ait-test://script.js", 2), "{frames:?}");
    assert_eq!(value(page, "globalThis.n").await, json!(2));
    // JavaScriptCore's stacks look like this, and carry no message.
    let webkit = "const e = new RangeError('m'); e.stack = 'f@http://h/@scope/x.js:3:5\\n@http://h/y.js:1:2\\neval code@\\nforEach@[native code]'; throw e";
    let failed = runtime::evaluate(&page.session, webkit, EvaluateOptions::default(), WITHIN);
    let Err(EvaluateError::Exception(details)) = failed.await else { panic!("it throws") };
    let described = "RangeError: m\n    at f (http://h/@scope/x.js:3:5)\n    at http://h/y.js:1:2\n    at eval code (<anonymous>:1:1)";
    assert_eq!(details.exception.as_ref().unwrap().description, described);
    assert_eq!((details.url.as_str(), details.line_number, details.column_number), ("http://h/@scope/x.js", 2, 4));

    let rejected = runtime::evaluate(
        &page.session,
        "Promise.reject(null)",
        EvaluateOptions { await_promise: true, ..EvaluateOptions::default() },
        WITHIN,
    );
    let Err(EvaluateError::Exception(details)) = rejected.await else { panic!("it rejects") };
    assert_eq!(details.text, "Uncaught (in promise)");
}

async fn tells_what_it_does(page: &Page) {
    let mut stream = page.session.events();
    value(page, "console.log('before anybody listens')").await;
    call(page, "Runtime.enable", json!({})).await;
    let context = next(&mut stream, "Runtime.executionContextCreated").await;
    assert!(context.params.get().contains(r#""isDefault":true"#));
    let early: ConsoleApiCalled = next(&mut stream, "Runtime.consoleAPICalled").await.parse().unwrap();
    assert_eq!(early.text(), "before anybody listens");

    runtime::add_binding(&page.session, "__told", WITHIN).await.unwrap();
    value(page, "__told('one'); console.warn('%s is %o', 'x', { a: 1, b: [2] }); __told('two')").await;
    let first: BindingCalled = next(&mut stream, "Runtime.bindingCalled").await.parse().unwrap();
    let warning: ConsoleApiCalled = next(&mut stream, "Runtime.consoleAPICalled").await.parse().unwrap();
    let second: BindingCalled = next(&mut stream, "Runtime.bindingCalled").await.parse().unwrap();
    assert_eq!((first.name.as_str(), first.payload.as_str(), second.payload.as_str()), ("__told", "one", "two"));
    assert_eq!((warning.kind.as_str(), warning.text().as_str()), ("warning", "x is {a: 1, b: Array(1)}"));

    let many = "console.assert(true); console.assert(0, 'a'); console.count(); console.count(); console.trace('t');
        console.table([1]); console.group('g'); console.groupEnd(); console.dir(null); console.error(new RangeError('r'))";
    value(page, many).await;
    let mut lines = Vec::new();
    for _ in 0..9 {
        let line: ConsoleApiCalled = next(&mut stream, "Runtime.consoleAPICalled").await.parse().unwrap();
        lines.push(format!("{} {}", line.kind, line.text().lines().next().unwrap_or_default()));
    }
    let expected = [
        "assert a",
        "count default: 1",
        "count default: 2",
        "trace t",
        "table [1]",
        "startGroup g",
        "endGroup ",
        "dir null",
        "error RangeError: r",
    ];
    assert_eq!(lines, expected);

    value(page, "setTimeout(() => { throw new Error('late') }); Promise.reject(new Error('unheard')); 0").await;
    let mut thrown = Vec::new();
    for _ in 0..2 {
        let event = next(&mut stream, "Runtime.exceptionThrown").await;
        assert!(event.parse::<Value>().unwrap()["timestamp"].as_f64().unwrap() > 1e12);
        let thrown_now: ExceptionThrown = event.parse().unwrap();
        thrown.push(format!("{}: {}", thrown_now.exception_details.text, thrown_now.exception_details));
    }
    thrown.sort();
    assert_eq!(thrown, ["Uncaught (in promise): Error: unheard", "Uncaught: Error: late"]);
}

async fn holds_objects(page: &Page) {
    let held = call(page, "Runtime.evaluate", json!({ "expression": "new Map([[1, { a: -0 }]])" })).await;
    assert_eq!(held["result"]["description"], "Map(1)");
    assert_eq!(held["result"]["subtype"], "map");
    let id = held["result"]["objectId"].clone();
    let declaration = "async function (key, plus = { n: 1 }) { return this.get(key).a + plus.n }\n// end";
    let called = json!({
        "functionDeclaration": declaration, "objectId": id, "arguments": [{ "value": 1 }], "awaitPromise": true,
    });
    assert_eq!(call(page, "Runtime.callFunctionOn", called).await["result"]["value"], 1);
    let inner = json!({ "functionDeclaration": "function () { return this.get(1) }", "objectId": id });
    let inner = call(page, "Runtime.callFunctionOn", inner).await["result"]["objectId"].clone();
    let properties = call(page, "Runtime.getProperties", json!({ "objectId": inner, "ownProperties": true })).await;
    assert_eq!(properties["result"][0]["name"], "a");
    assert_eq!(properties["result"][0]["value"]["unserializableValue"], "-0");
    call(page, "Runtime.releaseObject", json!({ "objectId": inner })).await;
    let gone = page.session.call::<Value>("Runtime.getProperties", json!({ "objectId": inner }), WITHIN).await;
    assert!(matches!(gone, Err(CdpError::Protocol { code: Some(-32000), .. })), "{gone:?}");
    let cycle = json!({ "expression": "const o = {}; o.o = o; o", "returnByValue": true });
    let cycle = page.session.call::<Value>("Runtime.evaluate", cycle, WITHIN).await;
    assert!(matches!(cycle, Err(CdpError::Protocol { code: Some(-32000), .. })), "{cycle:?}");
    let unknown = page.session.call::<Value>("DOMSnapshot.captureSnapshot", json!({}), WITHIN).await;
    assert!(unknown.unwrap_err().is_unsupported());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_that_replaced_the_built_ins_is_driven_all_the_same() {
    let mut desk = Desk::new(WITHIN);
    let (page, _phone) = desk.attach().await;
    call(&page, "Runtime.enable", json!({})).await;
    let mut stream = page.session.events();
    let vandal = "const broken = () => { throw new Error('broken') };
        for (const it of [Array.prototype, Promise.prototype, String.prototype.constructor, Map.prototype, RegExp.prototype])
          for (const key of Object.getOwnPropertyNames(it)) if (key !== 'constructor') try { it[key] = broken } catch {}
        JSON.parse = JSON.stringify = Reflect.apply = Date.now = broken; Object.defineProperty = Object.keys = broken;
        globalThis.setTimeout = globalThis.Promise = globalThis.Date = globalThis.WebSocket = globalThis.eval = undefined;
        WebSocket = undefined; Array.prototype[Symbol.iterator] = broken; Object.prototype.toJSON = broken;
        Object.prototype.method = 'A.b'; Object.prototype.id = 7; Error.prepareStackTrace = () => 42; 'done'";
    assert_eq!(value(&page, vandal).await, json!("done"));
    assert_eq!(value(&page, "({ a: [1, { b: 'c' }] })").await, json!({ "a": [1, { "b": "c" }] }));
    assert_eq!(value(&page, "(async () => 5)()").await, json!(5));
    let logged = "console.log({ get a() { throw 1 }, b: 2 }, new Proxy({}, { ownKeys() { throw 2 } })); 'on'";
    assert_eq!(value(&page, logged).await, json!("on"));
    let line: ConsoleApiCalled = next(&mut stream, "Runtime.consoleAPICalled").await.parse().unwrap();
    assert!(line.text().contains("b: 2"), "{}", line.text());
    desk.pages.close().await;
}
