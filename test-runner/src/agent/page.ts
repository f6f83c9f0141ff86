// The `Page` domain, and what the page is and where it goes.

import { create, type Fields, getterOf, indexOf, later, listen, own, record, slice, win } from '../shared/natives';
import type { Dispatcher } from './dispatch';
import { ProtocolError } from './remote';

/** Moves within the document leave no trace that could be watched everywhere, so the address is compared. */
const LOOK_EVERY = 1_000;
/** The reply to a command that ends the document gets a moment to leave. */
const LEAVE_AFTER = 20;
/** Longest title or address that is told; `data:` addresses can be megabytes long. */
const MAX_TEXT = 8_192;

const NONE: Fields = create(null);

const titleOf = getterOf<string>(Document.prototype, 'title');
const visibilityOf = getterOf<DocumentVisibilityState>(Document.prototype, 'visibilityState');

export const address = (): string => slice(win.location.href, 0, MAX_TEXT);
export const title = (): string => slice(titleOf(win.document), 0, MAX_TEXT);

export const isVisible = (): boolean => visibilityOf(win.document) === 'visible';

function withoutHash(url: string): string {
  const at = indexOf(url, '#');
  return at < 0 ? url : slice(url, 0, at);
}

export function addPage(dispatcher: Dispatcher, changed: (url: string, title: string) => void): void {
  const { location } = win;
  dispatcher.handle({
    'Page.enable': (_params, reply) => reply(NONE),
    'Page.disable': (_params, reply) => reply(NONE),
    'Page.reload'(_params, reply) {
      reply(NONE);
      later(() => location.reload(), LEAVE_AFTER);
    },
    'Page.navigate'(params, reply) {
      const url = own(params, 'url');
      if (typeof url !== 'string') throw new ProtocolError(-32602, 'Invalid parameters: url must be a string');
      reply(record({ frameId: 'main' }));
      later(() => {
        const stays = indexOf(url, '#') >= 0 && withoutHash(url) === withoutHash(location.href);
        location.assign(url);
        // To the same document with a hash the browser only scrolls.
        if (stays) location.reload();
      }, LEAVE_AFTER);
    },
  });

  let lastUrl = address();
  let lastTitle = title();
  function look(): void {
    const url = address();
    const words = title();
    if (url === lastUrl && words === lastTitle) return;
    lastUrl = url;
    lastTitle = words;
    changed(url, words);
  }
  function lookAgain(): void {
    look();
    later(lookAgain, LOOK_EVERY);
  }
  listen(win, 'popstate', look);
  listen(win, 'hashchange', look);
  later(lookAgain, LOOK_EVERY);
}
