// The link that is a WebSocket.

import { apply, getterOf, later, listen, win } from '../shared/natives';
import { type Link, type LinkOwner, natives } from './link';

const NativeSocket = natives?.WebSocket ?? win.WebSocket;
const nativeSend = natives?.send ?? NativeSocket.prototype.send;
const nativeClose = natives?.close ?? NativeSocket.prototype.close;
const dataOf = getterOf<unknown>(MessageEvent.prototype, 'data');
const codeOf = getterOf<number>(CloseEvent.prototype, 'code');

export function dialSocket(address: string, ticket: string, owner: LinkOwner): Link {
  // The ticket rides in a header: an address ends up in logs.
  const protocols = ticket ? ['ait.agent', `ait.ticket.${ticket}`] : ['ait.agent'];
  const socket = new NativeSocket(address, protocols);
  let over = false;
  const send = (text: string) => apply(nativeSend, socket, [text]);
  const end = (code?: number) => {
    if (over) return;
    over = true;
    owner.closed(code);
  };
  listen(socket, 'open', () => {
    if (!over) send(owner.hello());
  });
  listen(socket, 'message', (event) => {
    if (!over) owner.message(dataOf(event));
  });
  listen(socket, 'close', (event) => end(codeOf(event)));
  // WebKit reports mixed content and blocked ports with `error` alone; a `close` that follows knows more.
  listen(socket, 'error', () => later(end, 0));
  return {
    send,
    leave() {
      // What it was given is on its way.
    },
    close() {
      over = true;
      try {
        apply(nativeClose, socket, []);
      } catch {
        // It was closed already.
      }
    },
  };
}
