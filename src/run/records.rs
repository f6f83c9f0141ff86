//! What the page's recorder says, on its way from the transport binding to the run's events. Nothing here waits for
//! anything a result could be behind: a piece is read, passed on, and confirmed by a task of its own.

use std::collections::HashMap;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::rows;
use crate::cdp::Session;
use crate::cdp::runtime::{self, EvaluateOptions};
use crate::event::{EventKind, Events};
use crate::ident::{FileId, TestId};
use crate::wire::{RUNTIME_GLOBAL, TransportPiece};

/// How long a page may take to hear that a piece has arrived: as long as it may be suspended and come back.
const CONFIRM_WITHIN: Duration = Duration::from_secs(60);

/// Puts the pieces of one document together to records.
#[derive(Debug, Default)]
pub(super) struct Pieces {
    next_seq: u64,
    /// The start of a line whose end has not come.
    line: String,
    /// The rest of a line whose start was lost.
    skips: bool,
    /// The document has exchanged something.
    heard: bool,
    /// Its last word was the last.
    ended: bool,
}

impl Pieces {
    /// The records that end in this piece.
    pub(super) fn take(&mut self, piece: TransportPiece<'_>) -> Vec<Value> {
        // A reconnecting page may send a piece again.
        if piece.seq < self.next_seq {
            return Vec::new();
        }
        let mut records = Vec::new();
        let lost = piece.seq - self.next_seq;
        if lost > 0 {
            self.line.clear();
            self.skips = true;
            records.push(json!({ "kind": "gap", "pieces": lost }));
        }
        self.next_seq = piece.seq.saturating_add(1);
        for part in piece.text.split_inclusive('\n') {
            self.line.push_str(part);
            if part.ends_with('\n') {
                let line = std::mem::take(&mut self.line);
                if !std::mem::take(&mut self.skips) {
                    let record = record(&line);
                    self.heard |= record["kind"] == "connection" || record["kind"] == "message";
                    self.ended = record["kind"] == "end";
                    if !self.ended {
                        records.push(record);
                    }
                }
            }
        }
        records
    }

    /// The document is gone: what is missing of it, which is told once. How much, nobody knows where it could not say that
    /// this was all.
    pub(super) fn missing(&mut self) -> Vec<Value> {
        let Self { line, heard, ended, .. } = std::mem::take(self);
        let broken = (!line.is_empty()).then(|| json!({ "kind": "gap", "messages": 1 }));
        let open =
            (heard && !ended).then(|| json!({ "kind": "gap", "reason": "its document went without a last word" }));
        broken.into_iter().chain(open).collect()
    }
}

/// A line that is no record is one that was lost.
fn record(line: &str) -> Value {
    let record = match serde_json::from_str(line) {
        Ok(record @ Value::Object(_)) => Some(record),
        Ok(Value::Array(row)) => rows::record(&row),
        _ => None,
    };
    record.unwrap_or_else(|| json!({ "kind": "gap", "messages": 1 }))
}

/// Which test is meant by a run's number and a test's: records may come when the file that ran them is over.
#[derive(Debug, Default)]
pub(super) struct Owners(HashMap<u32, (FileId, Vec<TestId>)>);

impl Owners {
    /// A run of a file collected these tests.
    pub(super) fn learn(&mut self, run: u32, file: &FileId, tests: Vec<TestId>) {
        self.0.insert(run, (file.clone(), tests));
    }

    /// Names the test of a record where the page gave numbers.
    fn name(&self, record: &mut Value) -> Option<(FileId, TestId)> {
        let fields = record.as_object_mut()?;
        let test = fields.remove("test")?;
        let number = |key: &str| test[key].as_u64().and_then(|n| u32::try_from(n).ok());
        let (file, tests) = self.0.get(&number("run")?)?;
        let test = tests.get(number("test")? as usize)?;
        fields.insert("test".into(), Value::from(test.0.as_str()));
        Some((file.clone(), test.clone()))
    }

    /// Passes records on as events, one for each stretch that belongs to one test; `file` is the one that runs now.
    pub(super) async fn emit(&self, records: Vec<Value>, file: Option<&FileId>, events: &Events) {
        let mut stretch = Vec::new();
        let mut owner = None;
        for mut record in records {
            let next = self.name(&mut record);
            if next != owner && !stretch.is_empty() {
                send(std::mem::take(&mut stretch), owner.as_ref(), file, events).await;
            }
            owner = next;
            stretch.push(record);
        }
        if !stretch.is_empty() {
            send(stretch, owner.as_ref(), file, events).await;
        }
    }
}

async fn send(records: Vec<Value>, owner: Option<&(FileId, TestId)>, file: Option<&FileId>, events: &Events) {
    let (file, test) = match owner {
        Some((file, test)) => (Some(file), Some(test)),
        None => (file, None),
    };
    events.emit(file, test, EventKind::Transport { records }).await;
}

/// Confirmations on their way to the page. The next piece comes after one.
#[derive(Debug, Default)]
pub(super) struct Confirmations(JoinSet<()>);

impl Confirmations {
    /// Tells the page that a piece has arrived, as soon as the reporters have caught up with what came before.
    pub(super) fn send(&mut self, session: &Session, seq: u64, events: &Events) {
        while self.0.try_join_next().is_some() {}
        let (session, events) = (session.clone(), events.clone());
        self.0.spawn(async move {
            events.caught_up().await;
            let took = format!("{RUNTIME_GLOBAL}.took({seq})");
            // A page that is gone sends no more.
            drop(runtime::evaluate(&session, &took, EvaluateOptions::default(), CONFIRM_WITHIN).await);
        });
    }

    /// Waits until the page has heard of all of them.
    pub(super) async fn arrived(&mut self) {
        while self.0.join_next().await.is_some() {}
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn piece(seq: u64, text: &str) -> TransportPiece<'_> {
        TransportPiece { doc: "d", seq, text }
    }

    #[test]
    fn lines_are_put_together_whatever_the_pieces() {
        let text = "{\"n\":1}\n{\"n\":\"é😀\"}\n{\"n\":3}\n";
        for size in 1..=text.len() {
            let chars: Vec<char> = text.chars().collect();
            let mut pieces = Pieces::default();
            let records: Vec<Value> = chars
                .chunks(size)
                .zip(0..)
                .flat_map(|(part, seq)| pieces.take(piece(seq, &part.iter().collect::<String>())))
                .collect();
            assert_eq!(records, [json!({"n": 1}), json!({"n": "é😀"}), json!({"n": 3})], "{size}");
        }
    }

    #[test]
    fn a_lost_piece_is_told_and_costs_the_lines_it_held() {
        let mut pieces = Pieces::default();
        assert_eq!(pieces.take(piece(0, "{\"n\":1}\n{\"n\":")), [json!({"n": 1})]);
        let after = pieces.take(piece(2, "3}\n{\"n\":4}\n"));
        assert_eq!(after, [json!({"kind": "gap", "pieces": 1}), json!({"n": 4})]);
        assert_eq!(pieces.take(piece(2, "{\"n\":4}\n")), [] as [Value; 0]);
        assert_eq!(pieces.take(piece(3, "garbage\n")), [json!({"kind": "gap", "messages": 1})]);
    }

    #[test]
    fn what_is_missing_of_a_document_that_went_is_told_once() {
        let row = r#"[1,"s-c1",1,1,0,0,1,"a"]"#;
        let after = |text: &str| {
            let mut pieces = Pieces::default();
            pieces.take(piece(0, text));
            let missing = pieces.missing();
            assert_eq!(pieces.missing(), [] as [Value; 0]);
            missing
        };
        let unknown = json!({"kind": "gap", "reason": "its document went without a last word"});
        assert_eq!(after("{\"kind\":\"coverage\"}\n"), [] as [Value; 0], "nothing was exchanged");
        assert_eq!(after(&format!("{row}\n{{\"kind\":\"end\"}}\n")), [] as [Value; 0]);
        assert_eq!(after(&format!("{row}\n")), std::slice::from_ref(&unknown));
        assert_eq!(
            after(&format!("{row}\n{{\"kind\":\"end\"}}\n{row}\n")),
            std::slice::from_ref(&unknown),
            "it came back"
        );
        assert_eq!(after(&format!("{row}\n{row}")), [json!({"kind": "gap", "messages": 1}), unknown]);
    }

    #[tokio::test]
    async fn records_go_to_the_test_that_ran_when_they_were_made() {
        let mut owners = Owners::default();
        let (a, b) = (FileId("a".into()), FileId("b".into()));
        owners.learn(1, &a, vec![TestId("a > one".into()), TestId("a > two".into())]);
        let (events, mut receiver) = Events::channel();
        let of = |n: u32, test: Value| json!({"n": n, "test": test});
        let records = vec![
            json!({"n": 0}),
            of(1, json!({"run": 1, "test": 1})),
            of(2, json!({"run": 1, "test": 1})),
            of(3, json!({"run": 9, "test": 0})),
        ];
        owners.emit(records, Some(&b), &events).await;
        drop(events);
        let mut seen = Vec::new();
        while let Some(event) = receiver.recv().await {
            let EventKind::Transport { records } = event.kind else { panic!("{:?}", event.kind) };
            seen.push((event.file.unwrap().0, event.test.map(|test| test.0), records));
        }
        let two = |n: u32| json!({"n": n, "test": "a > two"});
        assert_eq!(
            seen,
            [
                ("b".into(), None, vec![json!({"n": 0})]),
                ("a".into(), Some("a > two".into()), vec![two(1), two(2)]),
                ("b".into(), None, vec![json!({"n": 3})]),
            ]
        );
    }
}
