//! Pages that run chii's own `target.js`, which is in the field.

use devtools_test::relay::Relay;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::gate::{closed, code, dial, relay, wrong_code};
use super::*;

/// An app that loads chii's script from itself and counts the sockets it opens.
struct App {
    address: String,
    server: tokio::task::JoinHandle<()>,
}

impl App {
    /// `relay` is where chii's script dials.
    async fn new(relay: &str, policy: Option<&'static str>) -> Self {
        use axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE};
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}/", listener.local_addr().unwrap());
        let html = format!(
            "<title>shop</title><script>
            const Native = WebSocket; window.dials = [];
            window.WebSocket = class extends Native {{ constructor(...all) {{ super(...all); dials.push(String(all[0])); }} }};
            window.ChiiServerUrl = '{relay}';
            </script><script src='/target.js'></script>"
        );
        let script = support::stock_script();
        let app = axum::Router::new().fallback(move |uri: axum::http::Uri| {
            let (kind, body) = match uri.path() {
                "/target.js" => ("text/javascript", script.clone()),
                _ => ("text/html", html.clone()),
            };
            let policy = policy.unwrap_or("default-src * 'unsafe-inline' 'unsafe-eval'");
            std::future::ready(([(CONTENT_TYPE, kind), (CONTENT_SECURITY_POLICY, policy)], body))
        });
        let server = tokio::spawn(async move { drop(axum::serve(listener, app).await) });
        Self { address, server }
    }
}

impl Drop for App {
    fn drop(&mut self) {
        self.server.abort();
    }
}

fn base(relay: &Relay, code: &str) -> String {
    format!("http://{}/at/{code}/", relay.address())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_gets_our_agent_and_nothing_runs_twice() {
    let mut desk = Desk::new(WITHIN);
    let Desk { pages, links, events, .. } = &mut desk;
    let (page, (phone, app)) = tokio::join!(pages.open(events), async {
        let link = links.recv().await.unwrap();
        let (origin, code) = link.split_once("/attach?at=").unwrap();
        let app = App::new(&format!("{origin}/at/{code}/"), None).await;
        (Phone::open(&app.address), app)
    });
    let page = page.unwrap();
    assert_eq!(page.info.title, "shop");
    assert_eq!(value(&page, "typeof chii.chobitsu").await, json!("object"), "it is chii's own script");
    call(&page, "Runtime.enable", json!({})).await;
    runtime::add_binding(&page.session, "__told", WITHIN).await.unwrap();
    let mut stream = page.session.events();
    let counted = "globalThis.n = (globalThis.n ?? 0) + 1; console.log('said'); __told(`${n}`); n";
    assert_eq!(value(&page, counted).await, json!(1));
    let told: BindingCalled = next(&mut stream, "Runtime.bindingCalled").await.parse().unwrap();
    assert_eq!((told.payload.as_str(), value(&page, "n").await), ("1", json!(1)));
    // One dial of either; chii's would follow a tenth of a second after its end, had it not been silenced.
    let dials =
        "new Promise((done) => setTimeout(done, 1500)).then(() => dials.map((url) => url.includes('favicon=')))";
    assert_eq!(value(&page, dials).await, json!([true, false]));
    desk.notice("chii's own target.js called: our agent was put into it").await;
    // Its records of what the page does would grow without end if our own connection were among them.
    value(&page, "chii.chobitsu.setOnMessage((text) => { globalThis.seen = (globalThis.seen ?? '') + text }); chii.chobitsu.sendRawMessage('{\"id\":7,\"method\":\"Network.enable\"}')").await;
    let seen =
        "new Promise((done) => setTimeout(done, 300)).then(() => (globalThis.seen ?? '').includes('webSocketFrame'))";
    assert_eq!(value(&page, seen).await, json!(false));
    drop((phone, app));
    desk.pages.close().await;
}

/// Alone it would dial thirty times a second, and lock the gate for everybody.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_a_wrong_code_it_is_silenced_after_a_few_dials() {
    let relay = relay().await;
    let app = App::new(&base(&relay, &wrong_code(&relay)), None).await;
    let phone = Phone::open(&app.address);
    let seen = gate::status(&relay, |status| status.refused >= 3).await;
    assert_eq!(seen.locked, 0);
    tokio::time::sleep(Duration::from_secs(1)).await;
    let dials = tokio::task::spawn_blocking(move || (phone.tap("dials.length"), phone)).await.unwrap();
    assert_eq!(dials.0, json!(3));
    assert_eq!(relay.status().borrow().refused, 3);
    relay.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_its_policy_forbids_eval_a_person_is_told() {
    let mut desk = Desk::new(Duration::from_secs(15));
    let Desk { pages, links, events, .. } = &mut desk;
    let (page, (phone, app)) = tokio::join!(pages.open(events), async {
        let link = links.recv().await.unwrap();
        let (origin, code) = link.split_once("/attach?at=").unwrap();
        let app = App::new(&format!("{origin}/at/{code}/"), Some("script-src 'self' 'unsafe-inline'")).await;
        (Phone::open(&app.address), app)
    });
    assert!(page.is_err());
    let said = desk.notice("does not let our agent in").await;
    assert!(said.contains("EvalError"), "{said}");
    drop((phone, app));
    desk.pages.close().await;
}

/// An app of the field wraps the socket and looks for one code.
#[tokio::test]
async fn an_app_of_the_field_is_told_4401_with_its_reason() {
    let relay = relay().await;
    let path = format!("/at/{}/target/a1B2c3?url=u&title=&favicon=f&__chobitsu-hide__=true", wrong_code(&relay));
    let mut socket = dial(&relay, &path, None).await.unwrap();
    assert_eq!(closed(&mut socket).await, (4401, "totp-rejected".into()));
    // A page that is frozen answers nothing: it is sent away for now, not for good.
    let path = format!("/at/{}/target/a1B2c3?url=u&title=&favicon=f&__chobitsu-hide__=true", code(&relay));
    let mut socket = dial(&relay, &path, None).await.unwrap();
    assert_eq!(closed(&mut socket).await.0, 1012);
    relay.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_version_that_an_app_reports_is_told_with_its_page() {
    let mut desk = Desk::new(WITHIN);
    let Desk { pages, links, events, .. } = &mut desk;
    let (page, _phone) = tokio::join!(pages.open(events), async {
        let link = links.recv().await.unwrap();
        let (origin, code) = link.split_once("/attach?at=").unwrap();
        let host = origin.strip_prefix("http://").unwrap();
        let mut stream = tokio::net::TcpStream::connect(host).await.unwrap();
        let head = format!("GET /at/{code}/ait-attach?v=3.1.0 HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 204 "), "{answer}");
        Phone::open(&link)
    });
    assert_eq!(page.unwrap().info.app_version.as_deref(), Some("3.1.0"));
    let told = desk.told();
    assert!(told.iter().any(|(stage, words)| stage == "Attached" && words.ends_with("app 3.1.0.")), "{told:?}");
    desk.pages.close().await;
}
