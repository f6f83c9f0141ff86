//! A browser that somebody else started (`--cdp-endpoint`): its pages are left as they were found.

use std::time::Duration;

use hyper::Method;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use url::{Host, Url};

use super::ChromeError;
use super::open::{Opening, address, open, open_in};
use super::pages::unavailable;
use crate::cdp::page::{BoxFuture, Page, PageSource, PageUnavailable};
use crate::cdp::{CdpError, Client, CloseReason, Session, transport};
use crate::event::{AttachStage, EventKind, Events, LossCause};
use crate::http;
use crate::secret::{Hidden, SafeUrl};
use crate::wire::{BINDING, TRANSPORT_BINDING};

/// Which endpoint, and which page in it.
#[derive(Clone, Debug)]
pub struct EndpointOptions {
    /// `http://host:port` or a `ws://` address of a browser or of a page.
    pub endpoint: String,
    /// The page to test in: opened in a tab of its own. Without it the first page there is.
    pub page_url: Option<String>,
    /// A script to run in each document of a page before the document's own.
    pub first_script: Option<String>,
    /// How long that page may take until its document is there.
    pub navigate_within: Duration,
}

/// Pages in a foreign browser.
#[derive(Debug)]
pub struct EndpointPages {
    options: EndpointOptions,
    client: Option<Client>,
    /// The tab we opened, to be closed at the end.
    own_target: Option<String>,
    /// The page of theirs we are in.
    found: Option<Found>,
}

/// A page of theirs, and where it was.
#[derive(Debug)]
struct Found {
    session: Session,
    home: Hidden,
}

/// One address of one endpoint.
const CONNECT_WITHIN: Duration = Duration::from_secs(5);
/// A DevTools endpoint answers at once; a phone behind `adb forward` takes a little longer.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);
/// Calls to the browser process.
const BROWSER_WITHIN: Duration = Duration::from_secs(10);
/// Putting a page back in order must not hold up the end of a run.
const LEAVE_WITHIN: Duration = Duration::from_secs(1);

/// A page as `/json/list` tells it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Listed {
    #[serde(rename = "type")]
    kind: String,
    web_socket_debugger_url: String,
}

impl EndpointPages {
    /// Nothing is connected yet.
    pub fn new(options: EndpointOptions) -> Self {
        Self { options, client: None, own_target: None, found: None }
    }

    async fn start(&mut self, events: &Events) -> Result<Page, ChromeError> {
        let message = "connecting to the browser (--cdp-endpoint)".to_owned();
        events.emit_global(EventKind::AttachState { stage: AttachStage::Starting, message }).await;
        let endpoint = Url::parse(&self.options.endpoint).map_err(|error| self.unusable(error))?;
        let browser = match endpoint.scheme() {
            "ws" => endpoint.clone(),
            "http" => match self.browser_address(&endpoint).await? {
                Some(browser) => browser,
                None => return self.page_of_list(&endpoint, events).await,
            },
            other => return Err(self.unusable(format!("{other}:// is neither http:// nor ws://"))),
        };
        let client = self.connect(&browser).await?;
        if browser.path().starts_with("/devtools/page/") {
            return self.page_of_connection(client, events).await;
        }
        match self.page_of_browser(&client, events).await {
            // Android WebViews have a browser endpoint that cannot open or list targets.
            Err(ChromeError::Cdp(CdpError::Protocol { .. })) if endpoint.scheme() == "http" => {
                self.page_of_list(&endpoint, events).await
            }
            opened => {
                self.client = Some(client);
                opened
            }
        }
    }

    /// The browser's own WebSocket address, where it names one.
    async fn browser_address(&self, endpoint: &Url) -> Result<Option<Url>, ChromeError> {
        #[derive(Default, Deserialize)]
        #[serde(rename_all = "camelCase", default)]
        struct Version {
            web_socket_debugger_url: String,
        }
        let text = self.get(endpoint, "/json/version").await?;
        let version: Version = serde_json::from_str(&text)
            .map_err(|_| self.unusable("its /json/version is not what a DevTools endpoint sends"))?;
        Ok(self.reachable(endpoint, &version.web_socket_debugger_url))
    }

    /// The address as it is reachable for us: a forwarded port is another one than the browser knows.
    fn reachable(&self, endpoint: &Url, told: &str) -> Option<Url> {
        let mut url = Url::parse(told).ok()?;
        url.set_host(endpoint.host_str()).ok()?;
        url.set_port(endpoint.port_or_known_default()).ok()?;
        Some(url)
    }

    fn opening<'a>(&'a self, url: Option<&'a str>, events: &'a Events) -> Opening<'a> {
        let EndpointOptions { first_script, navigate_within, .. } = &self.options;
        Opening { url, first_script: first_script.as_deref(), bypass_csp: false, within: *navigate_within, events }
    }

    async fn page_of_list(&mut self, endpoint: &Url, events: &Events) -> Result<Page, ChromeError> {
        let text = self.get(endpoint, "/json/list").await?;
        let listed: Vec<Listed> = serde_json::from_str(&text)
            .map_err(|_| self.unusable("its /json/list is not what a DevTools endpoint sends"))?;
        let page = listed.iter().find(|page| matches!(page.kind.as_str(), "page" | "webview"));
        let url = page.and_then(|page| self.reachable(endpoint, &page.web_socket_debugger_url));
        let url = url.ok_or_else(|| self.unusable("it has no page that can be debugged; open one first"))?;
        let client = self.connect(&url).await?;
        self.page_of_connection(client, events).await
    }

    async fn page_of_connection(&mut self, client: Client, events: &Events) -> Result<Page, ChromeError> {
        let page = open_in(client.root(), self.opening(self.options.page_url.as_deref(), events)).await?;
        self.client = Some(client);
        self.found(&page).await?;
        Ok(page)
    }

    async fn page_of_browser(&mut self, client: &Client, events: &Events) -> Result<Page, ChromeError> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Target {
            target_id: String,
            #[serde(default, rename = "type")]
            kind: String,
            #[serde(default)]
            url: String,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Targets {
            target_infos: Vec<Target>,
        }
        if let Some(url) = self.options.page_url.clone() {
            let created: Value =
                client.root().call("Target.createTarget", json!({ "url": "about:blank" }), BROWSER_WITHIN).await?;
            let target = created["targetId"].as_str().unwrap_or_default().to_owned();
            self.own_target = Some(target.clone());
            return open(client, &target, self.opening(Some(&url), events)).await;
        }
        let targets: Targets = client.root().call("Target.getTargets", json!({}), BROWSER_WITHIN).await?;
        let mut pages = targets.target_infos.iter().filter(|target| {
            target.kind == "page" && !target.url.starts_with("devtools://") && !target.url.starts_with("chrome")
        });
        let page = pages.next().ok_or_else(|| self.unusable("it has no page; open one, or give --page-url"))?;
        let page = open(client, &page.target_id, self.opening(None, events)).await?;
        self.found(&page).await?;
        Ok(page)
    }

    async fn found(&mut self, page: &Page) -> Result<(), ChromeError> {
        let session = page.session.clone();
        let home = address(&session).await?;
        self.found = Some(Found { session, home });
        Ok(())
    }

    async fn get(&self, endpoint: &Url, path: &str) -> Result<String, ChromeError> {
        let stream = self.tcp(endpoint).await?;
        let answer = http::request(stream, &authority(endpoint), Method::GET, path, None, ANSWER_WITHIN).await;
        match answer {
            Ok(answer) if answer.status == 200 => Ok(answer.body),
            Ok(answer) => Err(self.unusable(format!("GET {path} was answered with status {}", answer.status))),
            Err(why) => Err(self.unusable(why)),
        }
    }

    async fn connect(&self, url: &Url) -> Result<Client, ChromeError> {
        let stream = self.tcp(url).await?;
        let transport = transport::websocket(url.as_str(), stream).await.map_err(|why| self.unusable(why))?;
        Ok(Client::new(transport))
    }

    /// `localhost` is tried in both address families (O-13): Chrome listens on 127.0.0.1 alone, some hosts name ::1 first.
    async fn tcp(&self, url: &Url) -> Result<TcpStream, ChromeError> {
        let port = url.port_or_known_default().unwrap_or(80);
        let hosts = match url.host() {
            Some(Host::Domain("localhost")) => vec!["127.0.0.1".to_owned(), "::1".to_owned()],
            Some(Host::Ipv6(address)) => vec![address.to_string()],
            Some(host) => vec![host.to_string()],
            None => return Err(self.unusable("it names no host")),
        };
        let mut refusals = Vec::new();
        for host in hosts {
            let why = match tokio::time::timeout(CONNECT_WITHIN, TcpStream::connect((host.as_str(), port))).await {
                Ok(Ok(stream)) => {
                    // Small frames must not wait for each other; a socket that cannot be told so only is slower.
                    drop(stream.set_nodelay(true));
                    return Ok(stream);
                }
                Ok(Err(error)) => error.to_string(),
                Err(_) => format!("no answer within {}s", CONNECT_WITHIN.as_secs()),
            };
            let host = if host.contains(':') { format!("[{host}]") } else { host };
            refusals.push(format!("{host}:{port}: {why}"));
        }
        Err(self.unusable(format!("{}. Is it running with --remote-debugging-port?", refusals.join("; "))))
    }

    fn unusable(&self, why: impl ToString) -> ChromeError {
        let url = SafeUrl::new(&self.options.endpoint).to_string();
        ChromeError::Endpoint { url, why: why.to_string() }
    }

    async fn leave(&mut self) {
        let Some(client) = self.client.take() else { return };
        if let Some(target_id) = self.own_target.take() {
            let close = json!({ "targetId": target_id });
            drop(client.root().call::<Value>("Target.closeTarget", close, LEAVE_WITHIN).await);
        }
        if let Some(Found { session, .. }) = self.found.take() {
            for name in [BINDING, TRANSPORT_BINDING] {
                let binding = json!({ "name": name });
                drop(session.call::<Value>("Runtime.removeBinding", binding, LEAVE_WITHIN).await);
            }
        }
        client.close(CloseReason::Disconnected("the run is over".into()));
    }
}

fn authority(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

impl PageSource for EndpointPages {
    fn open<'a>(&'a mut self, events: &'a Events) -> BoxFuture<'a, Result<Page, PageUnavailable>> {
        Box::pin(async { self.start(events).await.map_err(unavailable) })
    }

    fn replace<'a>(&'a mut self, cause: LossCause, events: &'a Events) -> BoxFuture<'a, Result<Page, PageUnavailable>> {
        Box::pin(async move {
            if cause == LossCause::Busy || cause == LossCause::Navigated {
                // Their tab, their place: what a test did to it is undone by loading it again.
                if let Some(Found { session, home }) = &self.found {
                    let opening = self.opening(Some(home.expose()), events);
                    if let Ok(page) = open_in(session.clone(), opening).await {
                        return Ok(page);
                    }
                }
            }
            self.leave().await;
            self.start(events).await.map_err(unavailable)
        })
    }

    fn close<'a>(&'a mut self) -> BoxFuture<'a, ()> {
        Box::pin(self.leave())
    }
}
