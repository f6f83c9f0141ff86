// What the page wrote to its console, and what a person should know.
import { html, nothing, type TemplateResult } from 'lit';
import { repeat } from 'lit/directives/repeat.js';
import { errorView } from './results.ts';
import type { State } from './state.ts';
import type { Words } from './words.ts';

export function noticesView(state: State, words: Words): TemplateResult | typeof nothing {
  if (state.notices.length === 0) return nothing;
  return html`
    <section class="card" aria-labelledby="notices">
      <h2 id="notices">${words.notices}</h2>
      <ul class="notices" aria-live="polite">
        ${repeat(
          state.notices,
          (notice) => notice.n,
          (notice) => html`
            <li class=${notice.kind}>
              <strong>${words[notice.kind]}</strong>
              ${notice.message ? html`<p lang="en">${notice.message}</p>` : nothing}
              ${notice.error ? errorView(notice.error, words) : nothing}
            </li>
          `,
        )}
      </ul>
    </section>
  `;
}

export function consoleView(state: State, words: Words): TemplateResult {
  return html`
    <section class="card" aria-labelledby="console">
      <h2 id="console">${words.console}</h2>
      ${
        state.console.length === 0
          ? html`<p class="dim">${words.noConsole}</p>`
          : html`<ul class="console" role="log" aria-live="off" aria-labelledby="console" tabindex="0">
            ${repeat(
              state.console,
              (line) => line.n,
              (line) => html`<li class=${line.level}>
                <span class="level">${line.level}</span>
                <span class="text">${line.text}</span>
                ${line.location ? html`<span class="dim">${line.location.file}:${line.location.line}</span>` : nothing}
              </li>`,
            )}
          </ul>`
      }
    </section>
  `;
}
