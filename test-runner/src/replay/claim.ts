// Asks the host which recorded connection is the one that the page is about to make. The page waits for the answer: once
// the platform has begun to connect there is no way back.
import { apply, construct, getterOf, toJson } from '../shared/natives.ts';

export type Kind = 'websocket' | 'fetch' | 'eventsource';

export class Claims {
  private readonly Native = XMLHttpRequest;
  private readonly open = XMLHttpRequest.prototype.open;
  private readonly send = XMLHttpRequest.prototype.send;
  private readonly text = getterOf<string>(XMLHttpRequest.prototype, 'responseText');

  /** Host and path of the replay server that is asked, without a scheme. */
  constructor(private readonly place: string) {}

  /** The address at which the connection is played; none if it was not recorded. */
  claim(kind: Kind, method: string, address: string): string | undefined {
    const hash = address.indexOf('#');
    const url = hash < 0 ? address : address.slice(0, hash);
    try {
      const request = construct(this.Native, []);
      apply(this.open, request, ['POST', `http://${this.place}/claim`, false]);
      apply(this.send, request, [toJson({ kind, method, url })]);
      const played = this.text(request);
      const scheme = kind === 'websocket' ? 'ws' : 'http';
      return played === '' ? undefined : `${scheme}://${played}`;
    } catch {
      // The host is gone, or the page is: then there is nothing to play.
      return undefined;
    }
  }
}
