// One full sample of everything that crosses the wire. Between the marks stands plain JSON: the unit test of `src/wire.rs`
// takes it from this file, holds it against its own types, and must write back the same.
import type { Batch, CaptureInfo, CollectedTest, PageError, PageEvent, RunRequest, RuntimeInfo } from '../src/wire.ts';

type Every<T> = T extends unknown ? Required<T> : never;

interface Samples {
  batch: Omit<Batch, 'events'> & { events: Every<PageEvent>[] };
  test: Every<CollectedTest>;
  error: Every<PageError>;
  request: Every<RunRequest>;
  info: Every<RuntimeInfo>;
  piece: { doc: string; seq: number; text: string; sent: string };
  /** What the recorder writes of messages, and what the host makes of that. */
  rows: { line: string; record: object }[];
  capture: Every<CaptureInfo>;
}

// biome-ignore format: plain JSON
export const samples: Samples = /* <json> */ {
  "batch": { "doc": "d1", "seq": 7, "events": [
    { "type": "collected", "run": 1, "only": true, "tests": [
      { "path": ["suite", "runs"], "mode": "run" },
      { "path": ["skipped"], "mode": "skip" },
      { "path": ["left out"], "mode": "filtered" },
      { "path": ["planned"], "mode": "todo" }
    ] },
    { "type": "testStart", "run": 1, "test": 0, "attempt": 1, "limit": 5000 },
    { "type": "testFailing", "run": 1, "test": 0 },
    { "type": "testEnd", "run": 1, "test": 0, "state": "failed", "ms": 1.5, "errors": [
      { "name": "E", "message": "m", "kind": "error" }
    ], "note": "n", "retries": 1 },
    { "type": "testEnd", "run": 1, "test": 1, "state": "passed", "ms": 1.5, "errors": [
      { "name": "E", "message": "m", "kind": "timeout" }
    ], "note": "n", "retries": 1 },
    { "type": "testEnd", "run": 1, "test": 2, "state": "skipped", "ms": 1.5, "errors": [
      { "name": "E", "message": "m", "kind": "unsupported" }
    ], "note": "n", "retries": 1 },
    { "type": "testEnd", "run": 1, "test": 3, "state": "todo", "ms": 1.5, "errors": [
      { "name": "E", "message": "m", "kind": "assertion" }
    ], "note": "n", "retries": 1 },
    { "type": "phase", "run": 1, "phase": "beforeAll", "suite": ["suite"] },
    { "type": "suiteError", "run": 1, "suite": ["suite"], "error": { "name": "E", "message": "m", "kind": "error" } },
    { "type": "uncaught", "run": 1, "test": 0, "origin": "error", "error": { "name": "E", "message": "m", "kind": "error" } },
    { "type": "uncaught", "run": 1, "test": 0, "origin": "rejection", "error": { "name": "E", "message": "m", "kind": "error" } },
    { "type": "uncaught", "run": 1, "test": 0, "origin": "unawaited", "error": { "name": "E", "message": "m", "kind": "error" } },
    { "type": "notice", "run": 1, "message": "m" },
    { "type": "fileEnd", "run": 1, "ms": 2.5, "loadError": { "name": "E", "message": "m", "kind": "error" } }
  ] },
  "test": { "path": ["suite", "runs"], "mode": "run" },
  "error": {
    "name": "AssertionError", "message": "m", "kind": "assertion", "code": "C", "diff": "- 1\n+ 2",
    "expected": "1", "actual": "2",
    "frames": [{ "function": "f", "url": "ait-test://bundle/1/a", "line": 3, "column": 4 }],
    "hook": "beforeEach", "cause": { "name": "E", "message": "m", "kind": "error" }
  },
  "request": { "run": 1, "file": "a.ait.test.ts", "testTimeout": 5000, "hookTimeout": 10000, "namePattern": "^a",
    "allowOnly": true, "skip": [0, 2], "holdFailing": true },
  "info": { "version": "0.1.0", "doc": "d1", "seq": 7, "userAgent": "u", "url": "http://127.0.0.1/", "title": "t" },
  "piece": { "doc": "d1", "seq": 3, "text": "{\"kind\":\"coverage\"}\n[1,\"s", "sent": "d1 3\n{\"kind\":\"coverage\"}\n[1,\"s" },
  "rows": [
    { "line": "[1,\"s-c1\",1500,1764633600001500,0,0,2,\"hi\"]", "record": { "kind": "message", "id": "s-m1",
      "connectionId": "s-c1", "n": 1, "timestamp": 1.5, "wallTime": 1764633600001.5, "direction": "in",
      "protocol": "websocket", "size": 2, "payload": "hi", "payloadPreview": "hi", "metadata": {} } },
    { "line": "[12,\"s-c3\",2000,1764633600002000,1,2,3,\"\ud83d\ude00\\n\",{\"type\":\"tick\",\"truncated\":true,\"test\":{\"run\":1,\"test\":0},\"metadata\":{\"lastEventId\":\"7\"}}]",
      "record": { "kind": "message", "id": "s-m12", "connectionId": "s-c3", "n": 12, "timestamp": 2, "wallTime": 1764633600002,
        "direction": "out", "protocol": "eventsource", "size": 3, "payload": "\ud83d\ude00\n",
        "payloadPreview": "\ud83d\ude00\n", "metadata": { "lastEventId": "7" }, "type": "tick", "truncated": true,
        "test": { "run": 1, "test": 0 } } },
    { "line": "[5,\"s-c2\",1500,1764633600001500,0,1,3,[\"AAEC\"],{\"metadata\":{\"kind\":\"blob\"},\"late\":true}]",
      "record": { "kind": "payload", "id": "s-m5", "connectionId": "s-c2", "n": 5, "timestamp": 1.5,
        "wallTime": 1764633600001.5, "direction": "in", "protocol": "fetch-stream", "size": 3,
        "payload": { "type": "array-buffer", "byteLength": 3, "base64": "AAEC" },
        "payloadPreview": "[binary 3 bytes]", "metadata": { "kind": "blob" } } }
  ],
  "capture": { "from": 1.5, "beforeContent": true }
} /* </json> */;
