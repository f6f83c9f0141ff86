//! A file of records: an index of its lines, and its connections as they were last heard of. Messages stay in the file.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};

use serde_json::{Value, json};

use super::record::{self, Connection, Coverage, Message};
use super::selection::Selection;

/// Version of the format; goes up when a reader of the one before would misread it.
pub const VERSION: u64 = 1;

/// Why a file cannot be read as a timeline.
#[derive(Debug, thiserror::Error)]
pub enum TimelineError {
    /// The operating system said no.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// Its first line is not ours.
    #[error(
        "it is no timeline of devtools-test: its first line is no header. Give the transport.*.jsonl file of a report \
         folder"
    )]
    NoHeader,
    /// It was written by a later version.
    #[error("it has format {0}, and this version of devtools-test reads format {VERSION}; take a later one")]
    Version(u64),
}

/// A header is shorter; whatever else is given may be one line without an end.
const MAX_HEADER: u64 = 64 * 1024;

/// A timeline.
#[derive(Debug)]
pub struct Timeline<R> {
    input: BufReader<R>,
    header: Value,
    connections: Vec<Connection>,
    by_id: HashMap<String, usize>,
    messages: Vec<Place>,
    coverage: BTreeMap<String, Coverage>,
    /// Wall time of the first message.
    first: Option<f64>,
    lost: u64,
    cut_short: u64,
}

/// Where a message is, and which connection it belongs to.
#[derive(Clone, Copy, Debug)]
struct Place {
    offset: u64,
    connection: usize,
}

impl<R: Read + Seek> Timeline<R> {
    /// Reads a whole file once.
    ///
    /// # Errors
    /// See [`TimelineError`]. Lines that cannot be read are counted as lost.
    pub fn read(mut input: R) -> Result<Self, TimelineError> {
        input.rewind()?;
        let mut input = BufReader::new(input);
        let mut line = Vec::new();
        let mut offset = input.by_ref().take(MAX_HEADER).read_until(b'\n', &mut line)? as u64;
        let header: Value = serde_json::from_slice(&line).map_err(|_| TimelineError::NoHeader)?;
        match (header["kind"].as_str(), header["version"].as_u64()) {
            (Some("header"), Some(VERSION)) => {}
            (Some("header"), Some(version)) => return Err(TimelineError::Version(version)),
            _ => return Err(TimelineError::NoHeader),
        }
        let mut timeline = Self {
            input,
            header,
            connections: Vec::new(),
            by_id: HashMap::new(),
            messages: Vec::new(),
            coverage: BTreeMap::new(),
            first: None,
            lost: 0,
            cut_short: 0,
        };
        // Blobs: their bytes come in a line of their own.
        let mut incomplete = HashMap::new();
        loop {
            line.clear();
            let length = timeline.input.read_until(b'\n', &mut line)? as u64;
            if length == 0 {
                return Ok(timeline);
            }
            timeline.take(&line, offset, &mut incomplete);
            offset += length;
        }
    }

    fn take(&mut self, line: &[u8], offset: u64, incomplete: &mut HashMap<String, usize>) {
        let Ok(record) = serde_json::from_slice::<Value>(line) else {
            self.lost += 1;
            return;
        };
        match record["kind"].as_str() {
            Some("connection") => {
                let connection: Connection = record::of(&record);
                let at = self.connection_at(&connection.id);
                // Earlier versions said no more of one that was taken back.
                if connection.removed && connection.url.is_empty() {
                    self.connections[at].removed = true;
                } else {
                    self.connections[at] = connection;
                }
            }
            Some("message") => {
                let connection = self.connection_at(record["connectionId"].as_str().unwrap_or_default());
                if record["metadata"]["kind"] == "blob"
                    && let Some(id) = record["id"].as_str()
                {
                    incomplete.insert(id.to_owned(), self.messages.len());
                }
                self.messages.push(Place { offset, connection });
                self.first = self.first.or(record["wallTime"].as_f64());
            }
            Some("payload") => {
                if let Some(at) = record["id"].as_str().and_then(|id| incomplete.remove(id)) {
                    self.messages[at].offset = offset;
                }
            }
            Some("coverage") => {
                let coverage: Coverage = record::of(&record);
                self.coverage.insert(coverage.session.clone(), coverage);
            }
            Some("gap") => match record::lost_in(&record) {
                Some(lost) => self.lost = self.lost.saturating_add(lost),
                None => self.cut_short += 1,
            },
            _ => {}
        }
    }

    /// A connection may be heard of first by its messages.
    fn connection_at(&mut self, id: &str) -> usize {
        if let Some(at) = self.by_id.get(id) {
            return *at;
        }
        self.connections.push(Connection { id: id.to_owned(), ..Connection::default() });
        self.by_id.insert(id.to_owned(), self.connections.len() - 1);
        self.connections.len() - 1
    }

    /// The first line.
    pub fn header(&self) -> &Value {
        &self.header
    }

    /// All connections, in the order in which they were first heard of.
    pub fn connections(&self) -> &[Connection] {
        &self.connections
    }

    /// What of each document is seen.
    pub fn coverage(&self) -> impl Iterator<Item = &Coverage> {
        self.coverage.values()
    }

    /// Messages, or pieces of the channel, that are known to be missing.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Documents whose last messages may be missing: they went before they could say that there were no more.
    pub fn cut_short(&self) -> u64 {
        self.cut_short
    }

    /// How many messages it has.
    pub fn len(&self) -> usize {
        self.messages.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// Index of the connection of a message.
    pub(super) fn connection_of(&self, message: usize) -> usize {
        self.messages[message].connection
    }

    /// Milliseconds since 1970 of a time in a connection's document.
    pub fn wall_time(&self, connection: &Connection, at: f64) -> f64 {
        self.coverage.get(connection.session()).map_or(0.0, |coverage| coverage.began) + at
    }

    /// Milliseconds since 1970 when the first document began, or of the first message where nothing is known of documents.
    pub fn began(&self) -> f64 {
        let documents = self.coverage.values().map(|coverage| coverage.began);
        documents.reduce(f64::min).or(self.first).unwrap_or_default()
    }

    /// Reads a message.
    ///
    /// # Errors
    /// The file cannot be read any more.
    pub fn message(&mut self, index: usize) -> io::Result<Message> {
        Ok(record::of(&serde_json::from_slice::<Value>(&self.line(index)?)?))
    }

    /// Whether a record that is no message is wanted along with the messages of the `wanted` connections.
    fn keeps(&self, record: &Value, wanted: &[bool], selection: &Selection) -> bool {
        match record["kind"].as_str() {
            Some("coverage" | "gap") => true,
            Some("connection") => {
                let at = record["id"].as_str().and_then(|id| self.by_id.get(id));
                at.is_some_and(|at| !self.connections[*at].removed && (wanted[*at] || selection.is_everything()))
            }
            _ => false,
        }
    }

    fn line(&mut self, index: usize) -> io::Result<Vec<u8>> {
        let offset = self.messages[index].offset;
        let here = self.input.stream_position()?;
        match i64::try_from(offset).ok().zip(i64::try_from(here).ok()) {
            // Neighbours are read without giving up what is buffered.
            Some((offset, here)) => self.input.seek_relative(offset - here)?,
            None => drop(self.input.seek(SeekFrom::Start(offset))?),
        }
        let mut line = Vec::new();
        self.input.read_until(b'\n', &mut line)?;
        Ok(line)
    }

    /// Whether a message is wanted; `Some` with it if so.
    pub(super) fn wanted(&mut self, index: usize, selection: &Selection) -> io::Result<Option<Message>> {
        let message = self.message(index)?;
        let number = self.connection_of(index);
        let since = message.wall_time - self.began();
        Ok(selection.wants(&message, &self.connections[number], number + 1, since).then_some(message))
    }
}

/// Writes the wanted messages and their connections as a timeline again.
///
/// # Errors
/// What reading or writing came to.
pub fn write_jsonl<R: Read + Seek>(
    timeline: &mut Timeline<R>,
    selection: &Selection,
    out: &mut dyn Write,
) -> io::Result<()> {
    writeln!(out, "{}", timeline.header)?;
    let mut line = Vec::new();
    let mut wanted = vec![false; timeline.connections.len()];
    let mut chosen = Vec::new();
    for index in 0..timeline.len() {
        if timeline.wanted(index, selection)?.is_some() {
            wanted[timeline.connection_of(index)] = true;
            chosen.push(index);
        }
    }
    timeline.input.seek(SeekFrom::Start(0))?;
    while timeline.input.read_until(b'\n', &mut line)? > 0 {
        match serde_json::from_slice::<Value>(&line) {
            Ok(record) if timeline.keeps(&record, &wanted, selection) => write_line(out, &line)?,
            Ok(_) => {}
            Err(_) => writeln!(out, "{}", json!({ "kind": "gap", "messages": 1, "reason": "a damaged line" }))?,
        }
        line.clear();
    }
    for index in chosen {
        let line = timeline.line(index)?;
        // What came later takes the place of what came without its bytes.
        match line.strip_prefix(b"{\"kind\":\"payload\"") {
            Some(rest) => {
                out.write_all(b"{\"kind\":\"message\"")?;
                write_line(out, rest)?;
            }
            None => write_line(out, &line)?,
        }
    }
    Ok(())
}

/// The last line of a file may have no end.
fn write_line(out: &mut dyn Write, line: &[u8]) -> io::Result<()> {
    out.write_all(line)?;
    if line.ends_with(b"\n") { Ok(()) } else { out.write_all(b"\n") }
}
