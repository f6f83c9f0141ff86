// The small sign in a corner that a debugger is connected, for the person who holds the phone. It beats once a second, so
// that a page that is stuck shows it, and names the native calls that are waited for, where the app tells them.
//
// It takes no taps and no focus, says nothing to screen readers, and neither the app's styles nor its scripts reach into it.
// Names of methods are all it shows: no address, no code, no argument.

import { apply, type Fields, getterOf, later, listen, match, max, now, own, ownKeys, win } from '../shared/natives';

const ID = '__ait_debug_indicator';
const BEAT = 1_000;
/** How long a sign of the end stays, and how long it takes to fade. */
const STAYS = 5_000;
const FADES = 400;
/** Calls that are shown, and how old they may be: an older one was forgotten by the app. */
const CALLS = 3;
const OLDEST_CALL = 120_000;
const METHOD = /^[\w.$-]{1,40}$/;

const CONNECTED = '#e5484d';
const DISCONNECTED = '#8b8d98';

/** What the badge says; `none` takes it away at once. */
export type Sign = 'connected' | 'disconnected' | 'expired' | 'none';

const WORDS: Record<string, [english: string, korean: string]> = {
  connected: ['Debugger connected', '디버거 연결됨'],
  disconnected: ['Debugger disconnected', '디버거 연결 끊김'],
  expired: ['Code expired: scan again', '코드 만료: 다시 스캔하세요'],
};

const { document } = win;
const bodyOf = getterOf<HTMLElement | null>(Document.prototype, 'body');
const rootOf = getterOf<HTMLElement>(Document.prototype, 'documentElement');
const createElement = Document.prototype.createElement;
const attachShadow = Element.prototype.attachShadow;
const appendChild = Node.prototype.appendChild;
const remove = Element.prototype.remove;
const setAttribute = Element.prototype.setAttribute;
const setProperty = CSSStyleDeclaration.prototype.setProperty;
const getRect = Element.prototype.getBoundingClientRect;

/** Written property by property: a policy of the page that forbids styles does not mean these. */
function styled(tag: string, styles: Fields): HTMLElement {
  const element = apply(createElement, document, [tag]) as HTMLElement;
  style(element, styles);
  return element;
}

function style(element: HTMLElement, styles: Fields): void {
  const keys = ownKeys(styles);
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i] as string;
    apply(setProperty, element.style, [key, styles[key], 'important']);
  }
}

interface Parts {
  host: HTMLElement;
  pill: HTMLElement;
  dot: HTMLElement;
  words: HTMLElement;
  calls: HTMLElement;
}

function build(): Parts {
  const host = styled('div', {
    all: 'initial',
    position: 'fixed',
    top: 'calc(env(safe-area-inset-top, 0px) + 6px)',
    left: 'calc(env(safe-area-inset-left, 0px) + 6px)',
    'z-index': '2147483647',
    'pointer-events': 'none',
    'user-select': 'none',
    '-webkit-user-select': 'none',
    contain: 'layout style',
  });
  host.id = ID;
  apply(setAttribute, host, ['aria-hidden', 'true']);
  const root = apply(attachShadow, host, [{ mode: 'closed' }]) as ShadowRoot;
  const pill = styled('div', {
    padding: '3px 8px',
    'border-radius': '10px',
    background: 'rgba(17, 17, 19, .82)',
    color: '#fff',
    font: '11px/1.35 system-ui, sans-serif',
    'white-space': 'nowrap',
  });
  const dot = styled('span', {
    display: 'inline-block',
    width: '7px',
    height: '7px',
    'border-radius': '50%',
    'margin-right': '6px',
  });
  const words = styled('span', {});
  const calls = styled('div', { 'white-space': 'pre', opacity: '.85' });
  const put = (parent: Node, child: Node) => apply(appendChild, parent, [child]);
  put(pill, dot);
  put(pill, words);
  put(pill, calls);
  put(root, pill);
  return { host, pill, dot, words, calls };
}

/** Gives the function that says what the badge is to show. */
export function createBadge(): (sign: Sign) => void {
  const korean = /^ko\b/i.test(win.navigator.language);
  let parts: Parts | undefined;
  let shown: Sign = 'none';
  /** Counts the signs, so that what was begun for an old one is dropped. */
  let turn = 0;
  let bright = true;

  function take(): void {
    if (parts) apply(remove, parts.host, []);
    parts = undefined;
  }

  function beat(mine: number): void {
    if (mine !== turn || !parts) return;
    later(() => guarded(() => beat(mine)), BEAT);
    bright = !bright;
    style(parts.dot, { opacity: bright ? '1' : '.35' });
    // The app's own object may throw.
    parts.calls.textContent = '';
    parts.calls.textContent = pendingCalls();
  }

  function leave(mine: number): void {
    later(() => {
      if (mine !== turn || !parts) return;
      style(parts.host, { transition: `opacity ${FADES}ms`, opacity: '0' });
      later(() => mine === turn && guarded(take), FADES);
    }, STAYS);
  }

  function put(): void {
    if (!parts) {
      parts = build();
      apply(appendChild, rootOf(document), [parts.host]);
    }
    const { host, dot, words, calls } = parts;
    apply(setAttribute, host, ['data-state', shown === 'connected' ? 'attached' : 'disconnected']);
    style(host, { transition: 'none', opacity: '1' });
    style(dot, { background: shown === 'connected' ? CONNECTED : DISCONNECTED, opacity: '1' });
    words.textContent = WORDS[shown]?.[korean ? 1 : 0] ?? '';
    calls.textContent = '';
    if (shown === 'connected') later(() => guarded(() => beat(turn)), BEAT);
    else leave(turn);
  }

  function show(sign: Sign): void {
    // What ended does not begin with a sign, and what a tap took away does not come back to say goodbye.
    if (sign === shown || (sign === 'disconnected' && !parts)) return;
    shown = sign;
    turn++;
    if (sign === 'none') take();
    else if (bodyOf(document)) put();
    else {
      const mine = turn;
      listen(document, 'DOMContentLoaded', () => mine === turn && guarded(put));
    }
  }

  // A tap on it takes it away, and is the app's as any other.
  listen(
    win,
    'pointerdown',
    (event) =>
      guarded(() => {
        if (!parts || shown !== 'connected') return;
        const { clientX, clientY } = event as PointerEvent;
        const { left, right, top, bottom } = apply(getRect, parts.pill, []) as DOMRect;
        if (clientX < left || clientX > right || clientY < top || clientY > bottom) return;
        turn++;
        take();
      }),
    true,
  );
  listen(win, 'pagehide', () => guarded(() => show('none')));
  return (sign) => guarded(() => show(sign));
}

/** Apps that watch their native bridge tell what is under way: `__ait_bridge.pending`, by id. */
function pendingCalls(): string {
  const pending = own(own(win, '__ait_bridge'), 'pending');
  if (typeof pending !== 'object' || pending === null) return '';
  let text = '';
  let count = 0;
  const ids = ownKeys(pending);
  for (let i = 0; i < ids.length; i++) {
    const call = own(pending, ids[i] as string);
    const [method, startedAt] = [own(call, 'method'), own(call, 'startedAt')];
    const age = typeof startedAt === 'number' ? now() - startedAt : OLDEST_CALL;
    if (age >= OLDEST_CALL || typeof method !== 'string') continue;
    count++;
    const name = match(METHOD, method) ? method : '…';
    if (count <= CALLS) text += `${text ? '\n' : ''}${name} ${max(0, (age / 1000 + 0.5) | 0)} s`;
  }
  return count > CALLS ? `${text}\n+${count - CALLS}` : text;
}

/** Nothing of the badge may reach the app, whose document can be anything. */
function guarded(task: () => void): void {
  try {
    task();
  } catch {
    // Then there is no badge.
  }
}
