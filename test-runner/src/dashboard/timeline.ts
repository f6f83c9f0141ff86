// The timeline of what the page exchanged: a list of which only the lines in sight are there, filters, search, and the
// payload of one message. Drawn into its parent, whose styles are its own.
import { html, LitElement, nothing, type PropertyValues } from 'lit';
import { repeat } from 'lit/directives/repeat.js';
import {
  bytes,
  type Choice,
  isWanted,
  type Messages,
  type Payload,
  type Row,
  readable,
  timeOfDay,
} from './messages.ts';
import type { Words } from './words.ts';

/** Pixels of a line, as the styles have it. */
const LINE = 32;
/** Lines beyond those in sight, so that a scroll finds them drawn. */
const SPARE = 8;
/** Whoever types a search word is asked for once. */
const SEARCH_AFTER = 200;
/** While messages come they are searched this often. */
const SEARCH_AGAIN = 1000;

const NO_CHOICE: Choice = { protocol: '', connection: '', direction: '', test: '' };

export class Timeline extends LitElement {
  static override properties = {
    messages: { attribute: false },
    version: { attribute: false },
    words: { attribute: false },
  };
  declare messages: Messages;
  declare version: number;
  declare words: Words;

  #choice: Choice = { ...NO_CHOICE };
  #query = '';
  /** Those that have the text, of all up to a number. */
  #found: { rows: Set<number>; upTo: number } | undefined;
  /** What is shown, by number, and up to where messages were looked through for it. */
  #shown: number[] = [];
  #seen = 0;
  #first = 0;
  #height = 480;
  #selected: number | undefined;
  #payload: Payload | 'opening' | 'gone' | undefined;
  /** The end is in sight and stays in sight. */
  #follows = true;
  #timer = 0;
  #size = new ResizeObserver(([entry]) => {
    this.#height = entry?.contentRect.height ?? this.#height;
    this.requestUpdate();
  });

  protected override createRenderRoot(): HTMLElement {
    return this;
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#size.disconnect();
    clearTimeout(this.#timer);
  }

  protected override willUpdate(changed: PropertyValues): void {
    if (changed.has('version')) {
      if (this.messages.total < this.#seen) this.#forget();
      this.#look();
      if (this.#query && !this.#timer && this.messages.total > (this.#found?.upTo ?? 0)) this.#searchSoon(SEARCH_AGAIN);
    }
  }

  override render() {
    const { words, messages } = this;
    const { first, last } = this.#window();
    return html`
      <section class="card" aria-labelledby="transport">
        <h2 id="transport">${words.transport} <span class="dim">${words.messages(messages.total)}</span></h2>
        ${this.#filters()} ${this.#counts()}
        <div
          class="timeline"
          role="listbox"
          tabindex="0"
          aria-labelledby="transport"
          aria-activedescendant=${this.#selected === undefined ? nothing : `m${this.#selected}`}
          @scroll=${this.#scrolled}
          @keydown=${this.#key}
        >
          <div class="all">
            <div class="lines">
              ${repeat(
                this.#shown.slice(first, last),
                (n) => n,
                (n, index) => this.#line(messages.get(n), first + index),
              )}
            </div>
          </div>
        </div>
        ${this.#detail()}
      </section>
    `;
  }

  protected override firstUpdated(): void {
    const list = this.#list();
    if (list) this.#size.observe(list);
  }

  protected override updated(): void {
    // The policy of the page forbids style attributes, but not this.
    const all = this.querySelector<HTMLElement>('.all');
    const lines = this.querySelector<HTMLElement>('.lines');
    if (!all || !lines) return;
    all.style.height = `${this.#shown.length * LINE}px`;
    lines.style.transform = `translateY(${this.#window().first * LINE}px)`;
    const list = this.#list();
    if (list && this.#follows) list.scrollTop = list.scrollHeight;
  }

  #filters() {
    const { words, messages } = this;
    const protocols = [...new Set(messages.listed().map((connection) => connection.protocol))];
    const option = (value: string, text: string, now: string) =>
      html`<option value=${value} ?selected=${value === now}>${text}</option>`;
    const { protocol, connection, direction, test } = this.#choice;
    return html`
      <div class="filters" role="search" aria-label=${words.filter}>
        <input
          type="search"
          id="search"
          aria-label=${words.search}
          placeholder=${words.search}
          .value=${this.#query}
          @input=${this.#typed}
        />
        <select id="protocol" aria-label=${words.protocol} @change=${this.#chosen('protocol')}>
          ${option('', words.allProtocols, protocol)} ${protocols.map((name) => option(name, name, protocol))}
        </select>
        <select id="direction" aria-label=${words.direction} @change=${this.#chosen('direction')}>
          ${option('', words.bothDirections, direction)} ${option('in', words.received, direction)}
          ${option('out', words.sent, direction)}
        </select>
        <select id="connection" aria-label=${words.connection} @change=${this.#chosen('connection')}>
          ${option('', words.allConnections, connection)}
          ${messages.listed().map((one) => option(String(one.n), `${one.n + 1}: ${one.url}`, connection))}
        </select>
        ${
          test === ''
            ? nothing
            : html`<button type="button" id="any-test" @click=${() => this.#choose({ test: '' })}>
                ${words.onlyTest(messages.tests[Number(test)] ?? '')} ×
              </button>`
        }
      </div>
    `;
  }

  #counts() {
    const { words, messages } = this;
    const parts = [
      this.#filtered ? words.shown(this.#shown.length) : '',
      messages.first ? words.notKept(messages.first) : '',
      messages.lost ? words.lostMessages(messages.lost) : '',
      messages.cutShort ? words.cutShort(messages.cutShort) : '',
    ].filter(Boolean);
    if (parts.length === 0) return nothing;
    return html`<p class="dim" id="timeline-counts" role=${this.#filtered ? 'status' : nothing}>${parts.join(' · ')}</p>`;
  }

  #line(row: Row | undefined, index: number) {
    if (!row) return nothing;
    const { words, messages } = this;
    const [n, connection, out, type, size, preview, test, wall] = row;
    const selected = n === this.#selected;
    return html`
      <div
        class="line ${out ? 'out' : 'in'}"
        id="m${n}"
        role="option"
        aria-selected=${selected}
        aria-posinset=${index + 1}
        aria-setsize=${this.#shown.length}
        title=${test === null ? nothing : (messages.tests[test] ?? '')}
        @click=${() => this.#select(index)}
      >
        <span class="time">${timeOfDay(wall)}</span>
        <span class="way" aria-hidden="true">${out ? '↑' : '↓'}</span><span class="hidden">${out ? words.sent : words.received}</span>
        <span class="of dim">${connection + 1}</span>
        <span class="type dim">${type}</span>
        <span class="preview">${preview}</span>
        <span class="size dim">${bytes(size)}</span>
      </div>
    `;
  }

  #detail() {
    const row = this.#selected === undefined ? undefined : this.messages.get(this.#selected);
    if (!row) return nothing;
    const { words, messages } = this;
    const [n, connection, out, type, size, , test, wall] = row;
    const of = messages.connections[connection];
    const payload = this.#payload;
    const rows: [string, unknown][] = [
      [words.time, timeOfDay(wall)],
      [words.direction, `${out ? words.sent : words.received}, ${bytes(size)}${type ? `, ${type}` : ''}`],
      [words.connection, of ? `${of.protocol} ${connection + 1} (${of.state}): ${of.url}` : ''],
      [
        words.test,
        test === null
          ? words.noTest
          : html`${messages.tests[test]}
              <button type="button" class="small" @click=${() => this.#choose({ test: String(test) })}>${words.onlyThis}</button>`,
      ],
    ];
    return html`
      <div class="detail" id="message" role="region" aria-label=${words.message(n + 1)}>
        <h3>${words.message(n + 1)}</h3>
        <dl>${rows.map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>
        ${
          payload === 'gone' || payload === undefined
            ? html`<p class="dim">${words.payloadGone}</p>`
            : payload === 'opening'
              ? html`<p class="dim">${words.opening}</p>`
              : html`<pre tabindex="0" role="region" aria-label=${words.payload}>${readable(payload)}</pre>
                  ${payload.cut ? html`<p class="dim">${words.payloadCut}</p>` : nothing}`
        }
      </div>
    `;
  }

  get #filtered(): boolean {
    return this.#query !== '' || Object.values(this.#choice).some((value) => value !== '');
  }

  #window(): { first: number; last: number } {
    const first = Math.max(0, Math.min(this.#first, this.#shown.length - 1) - SPARE);
    return { first, last: Math.min(this.#shown.length, this.#first + Math.ceil(this.#height / LINE) + SPARE) };
  }

  #list(): HTMLElement | null {
    return this.querySelector('.timeline');
  }

  /** Looks through what is new. */
  #look(): void {
    const { messages } = this;
    if (this.#shown.length && (this.#shown[0] as number) < messages.first) {
      const kept = this.#shown.findIndex((n) => n >= messages.first);
      this.#shown = kept < 0 ? [] : this.#shown.slice(kept);
    }
    const start = messages.rows[0]?.[0] ?? messages.total;
    const end = start + messages.rows.length;
    // Of what was not searched yet nobody knows.
    const until = this.#query ? Math.min(end, this.#found?.upTo ?? 0) : end;
    for (let n = Math.max(this.#seen, start); n < until; n++) {
      const row = messages.rows[n - start] as Row;
      if ((!this.#query || this.#found?.rows.has(n)) && isWanted(row, messages, this.#choice)) this.#shown.push(n);
    }
    this.#seen = Math.max(this.#seen, until);
  }

  #forget(): void {
    this.#shown = [];
    this.#seen = 0;
  }

  #choose(choice: Partial<Choice>): void {
    this.#choice = { ...this.#choice, ...choice };
    this.#forget();
    this.#look();
    this.requestUpdate();
  }

  #chosen(name: keyof Choice) {
    return (event: Event) => this.#choose({ [name]: (event.target as HTMLSelectElement).value });
  }

  #typed = (event: Event): void => {
    this.#query = (event.target as HTMLInputElement).value;
    this.#found = undefined;
    this.#forget();
    if (this.#query) this.#searchSoon(SEARCH_AFTER);
    else this.#look();
    this.requestUpdate();
  };

  #searchSoon(after: number): void {
    clearTimeout(this.#timer);
    this.#timer = window.setTimeout(() => void this.#search(), after);
  }

  /** Has the payloads searched where they are. */
  async #search(): Promise<void> {
    const query = this.#query;
    const from = this.#found?.upTo ?? 0;
    let told: { found: number[]; upTo: number } | undefined;
    try {
      const answer = await fetch(`find?from=${from}&text=${encodeURIComponent(query)}`);
      told = answer.ok ? await answer.json() : undefined;
    } catch {
      // Whoever has the payloads is gone; that is said elsewhere.
    }
    this.#timer = 0;
    if (!told || query !== this.#query || !query) return;
    const rows = this.#found?.rows ?? new Set<number>();
    for (const n of told.found) rows.add(n);
    this.#found = { rows, upTo: told.upTo };
    this.#look();
    this.requestUpdate();
    if (told.upTo < this.messages.total) this.#searchSoon(SEARCH_AGAIN);
  }

  #scrolled = (event: Event): void => {
    const { scrollTop, scrollHeight, clientHeight } = event.target as HTMLElement;
    this.#follows = scrollHeight - scrollTop - clientHeight < LINE;
    const first = Math.floor(scrollTop / LINE);
    if (first === this.#first) return;
    this.#first = first;
    this.requestUpdate();
  };

  #key = (event: KeyboardEvent): void => {
    const page = Math.max(1, Math.floor(this.#height / LINE) - 1);
    const at = this.#selected === undefined ? -1 : this.#shown.indexOf(this.#selected);
    const last = this.#shown.length - 1;
    const places: Record<string, number> = {
      ArrowDown: at + 1,
      ArrowUp: at < 0 ? last : at - 1,
      PageDown: at + page,
      PageUp: at - page,
      Home: 0,
      End: last,
    };
    const place = places[event.key];
    if (place === undefined || last < 0) return;
    event.preventDefault();
    this.#select(Math.max(0, Math.min(last, place)));
  };

  #select(index: number): void {
    const n = this.#shown[index];
    if (n === undefined) return;
    this.#selected = n;
    this.#follows = false;
    const list = this.#list();
    if (list) {
      const top = index * LINE;
      if (top < list.scrollTop) list.scrollTop = top;
      else if (top + LINE > list.scrollTop + list.clientHeight) list.scrollTop = top + LINE - list.clientHeight;
    }
    void this.#open(n);
    this.requestUpdate();
  }

  async #open(n: number): Promise<void> {
    this.#payload = 'opening';
    let payload: Payload | 'gone' = 'gone';
    try {
      const answer = await fetch(`payload/${n}`);
      if (answer.ok) payload = (await answer.json()) as Payload;
    } catch {
      // Whoever has it is gone.
    }
    if (n !== this.#selected) return;
    this.#payload = payload;
    this.requestUpdate();
  }
}

customElements.define('ait-timeline', Timeline);
