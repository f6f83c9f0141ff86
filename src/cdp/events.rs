//! Events on their way to whoever listens.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use tokio::sync::Notify;

use super::lenient;

/// One event of a session.
#[derive(Clone, Debug)]
pub struct CdpEvent {
    /// For example `Runtime.consoleAPICalled`.
    pub method: String,
    /// Its parameters, unparsed; `{}` where it had none.
    pub params: Arc<RawValue>,
    /// Events of this stream that were dropped just before this one, because the listener was behind by more than the
    /// queue holds. Nearly always 0.
    pub lost_before: u64,
}

impl CdpEvent {
    /// The parameters as a type; lone surrogates in strings become U+FFFD.
    ///
    /// # Errors
    /// What `serde_json` found wrong.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        lenient::parse(self.params.get())
    }
}

/// Bytes of ordinary events that wait for one listener. A page that logs in a loop writes faster than anybody reads; the
/// newest are dropped then and counted. 32 MiB is some 100,000 console lines.
const EVENT_BUDGET: usize = 32 << 20;
/// Bytes of `Runtime.bindingCalled` events, which carry test results: well beyond what a run of 10,000 tests sends in
/// all, so that only a listener that stopped reading can lose one.
const BINDING_BUDGET: usize = 128 << 20;
/// What an event costs beside its parameters.
const EVENT_OVERHEAD: usize = 128;

const BINDING_CALLED: &str = "Runtime.bindingCalled";

#[derive(Debug, Default)]
struct State {
    events: VecDeque<CdpEvent>,
    ordinary_bytes: usize,
    binding_bytes: usize,
    lost: u64,
    closed: bool,
}

impl State {
    fn bytes_of(&mut self, event: &CdpEvent) -> (&mut usize, usize, usize) {
        let size = EVENT_OVERHEAD + event.params.get().len();
        match event.method.as_str() {
            BINDING_CALLED => (&mut self.binding_bytes, size, BINDING_BUDGET),
            _ => (&mut self.ordinary_bytes, size, EVENT_BUDGET),
        }
    }
}

/// The queue between the client and one listener.
#[derive(Debug, Default)]
pub(super) struct Queue {
    state: Mutex<State>,
    ready: Notify,
}

impl Queue {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds an event, or counts it as lost when the listener is too far behind.
    pub(super) fn push(&self, mut event: CdpEvent) {
        let mut state = self.state();
        let (bytes, size, budget) = state.bytes_of(&event);
        // One event always fits, however large: a queue that is empty cannot be behind.
        if *bytes > 0 && *bytes + size > budget {
            state.lost += 1;
            return;
        }
        *bytes += size;
        event.lost_before = std::mem::take(&mut state.lost);
        state.events.push_back(event);
        drop(state);
        self.ready.notify_one();
    }

    /// Nothing more will come; what waits can still be read.
    pub(super) fn close(&self) {
        self.state().closed = true;
        self.ready.notify_one();
    }

    fn pop(&self) -> Option<Option<CdpEvent>> {
        let mut state = self.state();
        match state.events.pop_front() {
            Some(event) => {
                let (bytes, size, _) = state.bytes_of(&event);
                *bytes -= size;
                Some(Some(event))
            }
            None => state.closed.then_some(None),
        }
    }
}

/// The events of one session from the moment of [`super::Session::events`] on, in the order in which they arrived.
///
/// Events that arrived before a reply are in the stream before the call returns. A listener that falls behind loses
/// ordinary events beyond 32 MiB and binding events beyond 128 MiB; [`CdpEvent::lost_before`] and [`Self::lost`] tell.
#[derive(Debug)]
pub struct EventStream {
    pub(super) queue: Arc<Queue>,
}

impl EventStream {
    /// The next event; `None` once the session is over and everything was read. Dropping the future loses nothing.
    pub async fn next(&mut self) -> Option<CdpEvent> {
        // Where there is always a next one, whoever waits for it must not keep the deadlines around it from striking.
        tokio::task::coop::consume_budget().await;
        loop {
            if let Some(next) = self.queue.pop() {
                return next;
            }
            self.queue.ready.notified().await;
        }
    }

    /// An event that is here already.
    pub fn try_next(&mut self) -> Option<CdpEvent> {
        self.queue.pop().flatten()
    }

    /// How many are here already.
    pub fn waiting(&self) -> usize {
        self.queue.state().events.len()
    }

    /// Events dropped since the last one that was queued.
    pub fn lost(&self) -> u64 {
        self.queue.state().lost
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn event(method: &str, bytes: usize) -> CdpEvent {
        let params = RawValue::from_string(format!("\"{}\"", "x".repeat(bytes))).unwrap();
        CdpEvent { method: method.into(), params: params.into(), lost_before: 0 }
    }

    #[tokio::test]
    async fn a_listener_that_is_behind_is_told_what_it_lost() {
        let queue = Arc::new(Queue::default());
        let mut stream = EventStream { queue: queue.clone() };
        queue.push(event("A.big", EVENT_BUDGET));
        queue.push(event("A.lost", 1));
        queue.push(event("A.lost", 1));
        queue.push(event(BINDING_CALLED, 1));
        assert_eq!(stream.next().await.unwrap().method, "A.big");
        queue.push(event("A.after", 1));
        let binding = stream.next().await.unwrap();
        assert_eq!((binding.method.as_str(), binding.lost_before), (BINDING_CALLED, 2));
        let after = stream.next().await.unwrap();
        assert_eq!((after.method.as_str(), after.lost_before), ("A.after", 0));
        queue.close();
        assert!(stream.next().await.is_none());
    }

    #[tokio::test]
    async fn binding_events_have_their_own_bound() {
        let queue = Arc::new(Queue::default());
        let mut stream = EventStream { queue: queue.clone() };
        queue.push(event(BINDING_CALLED, BINDING_BUDGET));
        queue.push(event(BINDING_CALLED, 1));
        assert_eq!(stream.lost(), 1);
        assert_eq!(stream.next().await.unwrap().lost_before, 0);
        queue.push(event(BINDING_CALLED, 1));
        assert_eq!(stream.next().await.unwrap().lost_before, 1);
    }
}
