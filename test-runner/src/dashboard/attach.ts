// The phone: its code, how far it has come, and what it is.
import { html, nothing, svg, type TemplateResult } from 'lit';
import type { Head, Stage, State, Waiting } from './state.ts';
import { clock, type Words } from './words.ts';

/** The way to a page that attaches. */
const WAY: Stage[] = ['starting', 'waiting', 'accepted', 'agentLoaded', 'attached'];
/** The standard asks for four light modules around a code; two are in it. */
const QUIET = 2;

export interface AttachView {
  state: State;
  words: Words;
  now: number;
  /** What became of the last copy. */
  copied: 'yes' | 'no' | undefined;
  copy: () => void;
}

export function attachView(view: AttachView): TemplateResult {
  const { state, words } = view;
  const device = state.run?.target === 'device';
  const { head } = state;
  return html`
    <section class="card" aria-labelledby="phone">
      <h2 id="phone">${device ? words.phone : words.page}</h2>
      ${invitation(view)} ${refusal(view)} ${page(view)}
      ${device && head && !head.over && head.stages.at(-1)?.stage !== 'attached' ? steps(view) : nothing}
    </section>
  `;
}

function invitation({ state, words, now, copied, copy }: AttachView) {
  const { head, invitation } = state;
  if (head?.problem) {
    return html`
      <div class="alert bad" role="alert" id="problem">
        <strong>${words.down}</strong>
        <p lang="en">${head.problem}</p>
        <p>${words.noScan}</p>
      </div>
    `;
  }
  if (!invitation) return nothing;
  const left = invitation.deadline - now;
  if (left <= 0) return html`<div class="alert" role="alert">${words.expired}</div>`;
  const size = invitation.side + 2 * QUIET;
  const box = `${-QUIET} ${-QUIET} ${size} ${size}`;
  return html`
    <figure class="code">
      ${svg`<svg id="qr" viewBox=${box} role="img" aria-label=${words.qr} shape-rendering="crispEdges">
        <rect x=${-QUIET} y=${-QUIET} width=${size} height=${size} fill="#fff"></rect>
        <path d=${invitation.path} fill="#000"></path>
      </svg>`}
      <figcaption>
        <strong>${words.scan}</strong>
        <span role="timer" id="remaining">${words.validFor(clock(left))}</span>
        <button type="button" id="copy" @click=${copy}>
          ${copied === 'yes' ? words.copied : copied === 'no' ? words.notCopied : words.copy}
        </button>
        <span class="dim">${words.keepOpen}</span>
      </figcaption>
    </figure>
  `;
}

function refusal({ state, words }: AttachView) {
  const { waiting, problem } = state.head ?? {};
  // With nothing to scan it asks for what cannot be done.
  if (!waiting || problem || waiting.refused + waiting.leftovers === 0) return nothing;
  const { refused, expired, leftovers, lockedMs } = waiting;
  const why = refused === 0 ? words.leftoverPage : expired === refused ? words.expiredCode : words.wrongCode;
  return html`
    <div class="alert warn" role="alert" id="refusal">
      <strong>${words.refused(refused + leftovers)}</strong>
      <p>${lockedMs === null ? why : words.locked}</p>
    </div>
    ${lockedMs === null ? nothing : html`<p class="dim" role="timer" id="locked">${words.lockedFor(clock(lockedMs))}</p>`}
  `;
}

function page({ state, words }: AttachView) {
  const { head } = state;
  const page = head?.page;
  if (!page) return head?.over ? html`<p class="dim">${words.noPageCame}</p>` : nothing;
  const rows = [
    [words.device, page.device],
    [words.engine, page.engine],
    [words.appVersion, page.appVersion],
    [words.title, page.title],
    [words.address, page.url],
  ];
  return html`
    <dl id="device">
      ${rows.filter(([, value]) => value).map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}
    </dl>
  `;
}

function steps({ state, words }: AttachView) {
  const { head } = state;
  if (!head) return nothing;
  const reached = new Map(head.stages.map((stage) => [stage.stage, stage]));
  const last = head.stages.at(-1)?.stage;
  // A page that was lost needs no relay to be started, but the rest of the way again.
  const way = reached.has('reattaching') ? (['reattaching', ...WAY.slice(1)] as Stage[]) : WAY;
  const at = last ? way.indexOf(last) : -1;
  const { waiting } = head;
  return html`
    <h3>${words.stages}</h3>
    <ol class="steps">
      ${way.map((stage, index) => {
        const step = index < at ? 'done' : index === at ? 'now' : 'next';
        return html`<li class=${step} aria-current=${step === 'now' ? 'step' : nothing}>
          ${words.stage[stage]}<span class="hidden">, ${words[step]}</span>
          ${step === 'now' ? html`<p class="dim" id="now">${whatNow(reached.get(stage), waiting, words)}</p>` : nothing}
        </li>`;
      })}
    </ol>
    ${
      waiting
        ? html`<p class="dim" id="waiting">
            ${words.waited(clock(waiting.elapsedMs), waiting.leftMs === null ? undefined : clock(waiting.leftMs))}
          </p>`
        : nothing
    }
  `;
}

/** What a person can do about it, or what the host says of a way that is not there yet. */
function whatNow(stage: Head['stages'][number] | undefined, waiting: Waiting | null, words: Words) {
  const told = waiting && words.progress[waiting.progress];
  return told || html`<span lang="en">${stage?.message}</span>`;
}
