// The dashboard: one element that shows what the stream of the run says. It holds no rules of its own.
import { html, LitElement } from 'lit';
import { attachView } from './attach.ts';
import { consoleView, noticesView } from './lines.ts';
import { resultsView } from './results.ts';
import { Stream } from './stream.ts';
import { styles } from './styles.ts';
import './timeline.ts';
import { type Language, preferred, type Words, words } from './words.ts';

/** How long the button says what became of a copy. */
const COPIED_FOR = 2000;
/** The remaining time is told in seconds. */
const TICK = 1000;

/** What the headline says, and how it looks. */
interface Status {
  kind: 'good' | 'bad' | 'warn' | 'busy';
  text: string;
  detail: string;
}

class Dashboard extends LitElement {
  static override styles = styles;

  #stream = new Stream('events', () => this.requestUpdate());
  #language: Language = preferred(navigator.languages);
  #choices = new Map<string, boolean>();
  #copied: 'yes' | 'no' | undefined;
  #tick = 0;

  override connectedCallback(): void {
    super.connectedCallback();
    this.#stream.open();
    this.#tick = window.setInterval(() => this.#stream.state.invitation && this.requestUpdate(), TICK);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#stream.close();
    window.clearInterval(this.#tick);
  }

  override render() {
    const { state } = this.#stream;
    const say = words[this.#language];
    const status = this.#status(say);
    document.documentElement.lang = this.#language;
    document.title = `${status.text} · devtools-test`;
    const cell = state.run?.cell;
    return html`
      <header>
        <h1>devtools-test</h1>
        ${cell ? html`<span class="chip">${cell.sdkLine} · ${cell.platform}</span>` : ''}
        <button type="button" id="language" lang=${this.#language === 'en' ? 'ko' : 'en'} @click=${this.#switch}>
          ${say.language}
        </button>
      </header>
      <div class="status ${status.kind}" id="status" role="status">
        <strong>${status.text}</strong>
        ${status.detail ? html`<span lang="en">${status.detail}</span>` : ''}
      </div>
      <main>
        <div class="side">
          ${attachView({
            state,
            words: say,
            now: performance.now(),
            copied: this.#copied,
            copy: () => void this.#copy(),
          })}
          ${noticesView(state, say)}
        </div>
        <div class="side wide">
          ${resultsView({
            state,
            words: say,
            choices: this.#choices,
            choose: (file, open) => {
              this.#choices.set(file, open);
              this.requestUpdate();
            },
          })}
          ${
            state.messages.total + state.messages.listed().length > 0
              ? html`<ait-timeline
                  .messages=${state.messages}
                  .version=${state.messages.version}
                  .words=${say}
                ></ait-timeline>`
              : ''
          }
          ${consoleView(state, say)}
        </div>
      </main>
    `;
  }

  #status(say: Words): Status {
    const { state, link } = this.#stream;
    const { head } = state;
    const result = head?.result;
    if (result) {
      const kind = result.exit === 'passed' ? 'good' : 'bad';
      return { kind, text: say.exit[result.exit], detail: result.reason };
    }
    if (link === 'lost') return { kind: 'bad', text: say.lost, detail: say.lostWords };
    if (link === 'ended') return { kind: 'bad', text: say.noResult, detail: '' };
    if (!head) return { kind: 'busy', text: say.opening, detail: '' };
    if (head.problem) return { kind: 'bad', text: say.down, detail: '' };
    const stage = head.stages.at(-1);
    if (head.pageState) return { kind: 'busy', text: say.pageState[head.pageState], detail: head.running?.file ?? '' };
    if (head.running) return { kind: 'busy', text: say.runningTests, detail: head.running.file };
    if (stage?.stage === 'waiting') return { kind: 'busy', text: say.waitingForPage, detail: '' };
    return { kind: 'busy', text: stage ? say.stage[stage.stage] : say.opening, detail: '' };
  }

  #switch(): void {
    this.#language = this.#language === 'en' ? 'ko' : 'en';
    this.requestUpdate();
  }

  async #copy(): Promise<void> {
    const link = this.#stream.state.invitation?.link;
    if (!link) return;
    try {
      await navigator.clipboard.writeText(link);
      this.#copied = 'yes';
    } catch {
      this.#copied = 'no';
    }
    this.requestUpdate();
    setTimeout(() => {
      this.#copied = undefined;
      this.requestUpdate();
    }, COPIED_FOR);
  }
}

customElements.define('ait-dashboard', Dashboard);
