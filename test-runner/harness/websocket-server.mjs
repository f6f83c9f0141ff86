// As much of a WebSocket server (RFC 6455) as the tests need: whatever comes is kept, whatever is told is sent.
import { createHash } from 'node:crypto';

const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
export const TEXT = 1;
export const BINARY = 2;
const CLOSE = 8;
const PING = 9;

export class ServerSocket {
  received = [];
  #buffer = Buffer.alloc(0);
  #parts = [];
  #opcode = 0;
  #closing = false;

  /** Answers the request to upgrade; `listener` gets `(opcode, bytes)` of each message. */
  constructor(request, socket, listener) {
    this.socket = socket;
    const key = createHash('sha1')
      .update(request.headers['sec-websocket-key'] + GUID)
      .digest('base64');
    const offered = request.headers['sec-websocket-protocol'];
    const chosen = offered ? `Sec-WebSocket-Protocol: ${offered.split(',')[0].trim()}\r\n` : '';
    socket.write(
      'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n' +
        `Sec-WebSocket-Accept: ${key}\r\n${chosen}\r\n`,
    );
    socket.setNoDelay(true);
    socket.on('error', () => {});
    socket.on('data', (data) => {
      this.#buffer = Buffer.concat([this.#buffer, data]);
      while (this.#frame(listener));
    });
  }

  #frame(listener) {
    const buffer = this.#buffer;
    if (buffer.length < 2) return false;
    let length = buffer[1] & 0x7f;
    let at = 2;
    if (length === 126) {
      if (buffer.length < 4) return false;
      length = buffer.readUInt16BE(2);
      at = 4;
    } else if (length === 127) {
      if (buffer.length < 10) return false;
      length = Number(buffer.readBigUInt64BE(2));
      at = 10;
    }
    if (buffer.length < at + 4 + length) return false;
    const mask = buffer.subarray(at, at + 4);
    const data = Buffer.from(buffer.subarray(at + 4, at + 4 + length));
    for (let i = 0; i < data.length; i++) data[i] ^= mask[i & 3];
    this.#buffer = buffer.subarray(at + 4 + length);
    this.#take(buffer[0] & 0x0f, (buffer[0] & 0x80) !== 0, data, listener);
    return true;
  }

  #take(opcode, last, data, listener) {
    if (opcode === CLOSE) {
      this.closed = data;
      if (!this.#closing) this.frame(CLOSE, data);
      this.socket.end();
      return;
    }
    if (opcode > CLOSE) return;
    if (opcode) this.#opcode = opcode;
    this.#parts.push(data);
    if (!last) return;
    const message = Buffer.concat(this.#parts);
    this.#parts = [];
    this.received.push({ opcode: this.#opcode, data: message });
    listener(this.#opcode, message);
  }

  /** Sends one frame; `last` is false for all but the last of a message in parts. */
  frame(opcode, data, last = true) {
    const bytes = Buffer.from(data);
    const head = [(last ? 0x80 : 0) | opcode];
    if (bytes.length < 126) head.push(bytes.length);
    else if (bytes.length < 65_536) head.push(126, bytes.length >> 8, bytes.length & 255);
    else head.push(127, 0, 0, 0, 0, ...[24, 16, 8, 0].map((shift) => (bytes.length >>> shift) & 255));
    this.socket.write(Buffer.concat([Buffer.from(head), bytes]));
  }

  ping() {
    this.frame(PING, 'ping');
  }

  close(code, reason) {
    this.#closing = true;
    const data = Buffer.alloc(2 + Buffer.byteLength(reason));
    data.writeUInt16BE(code);
    data.write(reason, 2);
    this.frame(CLOSE, data);
  }
}
