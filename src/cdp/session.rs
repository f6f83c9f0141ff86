//! A conversation with one target.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::watch;

use super::client::Failure;
use super::envelope::Request;
use super::error::CloseReason;
use super::{CdpError, Client, EventStream, lenient};

/// A CDP session: flat, on a shared connection, or the connection itself. Clones share it.
#[derive(Clone, Debug)]
pub struct Session {
    pub(super) client: Client,
    pub(super) id: Arc<str>,
    pub(super) closing: Closing,
}

/// Whether a session is over, and why.
#[derive(Clone, Debug)]
pub(super) struct Closing(Arc<watch::Sender<Option<CloseReason>>>);

impl Default for Closing {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(None)))
    }
}

impl Closing {
    /// The first reason stays.
    pub(super) fn close(&self, reason: CloseReason) {
        self.0.send_if_modified(|now| {
            let first = now.is_none();
            if first {
                *now = Some(reason);
            }
            first
        });
    }

    pub(super) fn reason(&self) -> Option<CloseReason> {
        self.0.borrow().clone()
    }
}

/// Takes a call's id back when the caller gives up before the reply.
struct Forget<'a>(&'a Session, u64);

impl Drop for Forget<'_> {
    fn drop(&mut self) {
        self.0.client.shared.forget(self.1);
    }
}

impl Session {
    /// Calls a method and waits for its reply, at most `within`.
    ///
    /// Calls of one session are sent in the order in which they are first polled.
    ///
    /// # Errors
    /// See [`CdpError`].
    pub async fn call<T: DeserializeOwned>(
        &self,
        method: &'static str,
        params: impl Serialize,
        within: Duration,
    ) -> Result<T, CdpError> {
        let shared = &self.client.shared;
        let (id, reply) = shared.expect_reply(&self.id);
        let _forget = Forget(self, id);
        let session_id = (!self.id.is_empty()).then_some(&*self.id);
        let frame = serde_json::to_string(&Request { id, method, params, session_id })
            .map_err(|error| CdpError::BadReply { method, message: error.to_string() })?;
        let answered = tokio::time::timeout(within, async {
            tokio::pin!(reply);
            // A stalled transport must not hide that the session is over.
            tokio::select! {
                biased;
                answer = &mut reply => return answer,
                () = shared.send(frame) => {}
            }
            reply.await
        });
        let raw = match answered.await {
            Err(_) => return Err(CdpError::Deadline { method, within }),
            Ok(Ok(Ok(raw))) => raw,
            Ok(Ok(Err(Failure::Refused(refusal)))) => {
                return Err(CdpError::Protocol { method, code: refusal.code, message: refusal.message });
            }
            Ok(Ok(Err(Failure::Closed(reason)))) => return Err(CdpError::Closed { reason }),
            Ok(Err(_)) => {
                let reason = CloseReason::Disconnected("the connection was given up".into());
                return Err(CdpError::Closed { reason });
            }
        };
        lenient::parse(raw.get()).map_err(|error| CdpError::BadReply { method, message: error.to_string() })
    }

    /// Every event of this session from now on.
    pub fn events(&self) -> EventStream {
        self.client.shared.listen(&self.id)
    }

    /// Waits until the session is over.
    pub async fn closed(&self) -> CloseReason {
        let mut watch = self.closing.0.subscribe();
        let closed = watch.wait_for(Option::is_some).await.map(|reason| reason.clone());
        closed.ok().flatten().unwrap_or_else(|| CloseReason::Disconnected("the connection was given up".into()))
    }

    /// Whether the session is over.
    pub fn is_closed(&self) -> bool {
        self.closing.reason().is_some()
    }

    /// The connection it is on.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// The session id on the wire; empty for the connection's own session.
    pub fn id(&self) -> &str {
        &self.id
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::{Value, json};

    use super::super::transport::{self, Peer};
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn client() -> (Peer, Client) {
        let (peer, transport) = transport::memory();
        (peer, Client::new(transport))
    }

    async fn asked(peer: &mut Peer) -> (u64, Value) {
        let frame: Value = serde_json::from_str(&peer.recv().await.unwrap()).unwrap();
        (frame["id"].as_u64().unwrap(), frame)
    }

    #[tokio::test]
    async fn replies_find_their_call_whatever_else_arrives() {
        let (mut peer, client) = client();
        let session = client.root();
        let other = session.clone();
        let mut events = session.events();
        let (first, second, ()) = tokio::join!(
            session.call::<Value>("A.one", json!({}), SECOND),
            other.call::<Value>("A.two", json!({}), SECOND),
            async {
                let (one, _) = asked(&mut peer).await;
                let (two, _) = asked(&mut peer).await;
                for frame in [
                    "not json".to_owned(),
                    r#"{"method":"New.thing","params":{"a":1},"extra":true}"#.to_owned(),
                    format!(r#"{{"id":{two},"result":{{"n":2}},"unknown":[]}}"#),
                    r#"{"id":99999,"result":{}}"#.to_owned(),
                    format!(r#"{{"id":{one},"error":{{"message":"A.one unimplemented"}}}}"#),
                ] {
                    peer.send(frame).await.unwrap();
                }
            }
        );
        assert!(first.unwrap_err().is_unsupported());
        assert_eq!(second.unwrap(), json!({"n": 2}));
        assert_eq!(events.next().await.unwrap().method, "New.thing");
        assert_eq!(client.stats(), super::super::Stats { garbage: 1, orphans: 1 });
    }

    #[tokio::test]
    async fn a_closed_transport_ends_every_call_and_stream_with_its_reason() {
        let (mut peer, client) = client();
        let session = client.session("S1");
        let mut events = session.events();
        let (call, ()) = tokio::join!(session.call::<Value>("A.b", json!({}), SECOND), async {
            let (_, frame) = asked(&mut peer).await;
            assert_eq!(frame["sessionId"], "S1");
            peer.close("the phone left");
        });
        assert_eq!(call.unwrap_err().to_string(), "the connection closed: the phone left");
        assert!(events.next().await.is_none());
        assert!(session.is_closed() && client.root().is_closed());
        let late = client.session("S2").call::<Value>("A.b", json!({}), SECOND).await;
        assert!(matches!(late, Err(CdpError::Closed { .. })));
    }

    #[tokio::test(start_paused = true)]
    async fn every_call_has_a_deadline_and_a_late_reply_is_harmless() {
        let (mut peer, client) = client();
        let session = client.root();
        let call = session.call::<Value>("A.b", json!({}), SECOND).await;
        assert!(matches!(call, Err(CdpError::Deadline { method: "A.b", .. })));
        let (id, _) = asked(&mut peer).await;
        let mut events = session.events();
        peer.send(format!(r#"{{"id":{id},"result":{{}}}}"#)).await.unwrap();
        peer.send(r#"{"method":"A.after"}"#.into()).await.unwrap();
        assert_eq!(events.next().await.unwrap().method, "A.after");
        assert_eq!(client.stats().orphans, 1);
    }

    #[tokio::test]
    async fn a_crash_ends_its_session_only() {
        let (peer, client) = client();
        let (one, two) = (client.session("S1"), client.session("S2"));
        peer.send(r#"{"method":"Inspector.targetCrashed","sessionId":"S1","params":{}}"#.into()).await.unwrap();
        assert!(matches!(one.closed().await, CloseReason::Crashed(_)));
        assert!(!two.is_closed());
    }
}
