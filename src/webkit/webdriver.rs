//! The few commands of WebDriver (W3C, classic) that lead a browser to a link.

use std::net::Ipv4Addr;
use std::time::Duration;

use hyper::Method;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::net::TcpStream;

use crate::http;
use crate::secret::Hidden;

/// A driver that listens answers this at once.
const STATUS_WITHIN: Duration = Duration::from_secs(2);
/// A new session starts a browser, which takes a second; a cold one on a loaded machine many. A driver does not notice
/// that its browser ended, so this is also how long that takes to be told.
const SESSION_WITHIN: Duration = Duration::from_secs(25);
/// A session that does not wait for loads answers at once unless its page is stuck.
const NAVIGATE_WITHIN: Duration = Duration::from_secs(10);

/// A driver that listens on this machine.
#[derive(Clone, Copy, Debug)]
pub(super) struct WebDriver {
    port: u16,
}

/// A browser under a driver.
#[derive(Clone, Debug)]
pub(super) struct Session {
    driver: WebDriver,
    id: String,
}

/// What every answer looks like.
#[derive(Deserialize)]
struct Answer {
    value: Value,
}

impl WebDriver {
    pub(super) fn at(port: u16) -> Self {
        Self { port }
    }

    /// Whether it takes a session.
    pub(super) async fn is_ready(self) -> bool {
        let status = self.call(Method::GET, "/status", None, STATUS_WITHIN).await;
        status.is_ok_and(|status| status["ready"] == true)
    }

    /// Starts a browser with these capabilities.
    pub(super) async fn new_session(self, capabilities: Value) -> Result<Session, String> {
        let body = json!({ "capabilities": { "alwaysMatch": capabilities } });
        let created = self.call(Method::POST, "/session", Some(body), SESSION_WITHIN).await?;
        match created["sessionId"].as_str() {
            Some(id) => Ok(Session { driver: self, id: id.to_owned() }),
            None => Err("the driver named no session".into()),
        }
    }

    async fn call(self, method: Method, path: &str, body: Option<Value>, limit: Duration) -> Result<Value, String> {
        let connect = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).await;
        let stream = connect.map_err(|error| format!("its driver does not listen: {error}"))?;
        let authority = format!("127.0.0.1:{}", self.port);
        let body = body.map(|body| body.to_string());
        let answer = http::request(stream, &authority, method, path, body, limit).await?;
        let parsed = serde_json::from_str(&answer.body).map(|Answer { value }| value);
        match parsed {
            Ok(value) if answer.status == 200 => Ok(value),
            Ok(value) => Err(refusal(answer.status, &value)),
            Err(_) => Err(format!("status {}, and no WebDriver answer", answer.status)),
        }
    }
}

impl Session {
    /// Goes to a link. Its messages are left out of errors: they may repeat the link.
    pub(super) async fn navigate(&self, link: &Hidden) -> Result<(), String> {
        let path = format!("/session/{}/url", self.id);
        let call = self.driver.call(Method::POST, &path, Some(json!({ "url": link.expose() })), NAVIGATE_WITHIN);
        match call.await {
            Ok(_) => Ok(()),
            Err(why) => Err(why.replace(link.expose(), "(link)").replace(&path, "/url")),
        }
    }
}

/// `session not created: why`, as the `error` and `message` of the answer say.
fn refusal(status: u16, value: &Value) -> String {
    let text = |key: &str| value[key].as_str().unwrap_or_default().trim().to_owned();
    match (text("error"), text("message")) {
        (error, _) if error.is_empty() => format!("status {status}"),
        (error, message) if message.is_empty() => error,
        (error, message) => format!("{error}: {message}"),
    }
}
