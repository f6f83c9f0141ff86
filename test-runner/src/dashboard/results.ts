// The tests: files, their tests as they finish, and why some of them failed.
import { html, nothing, type TemplateResult } from 'lit';
import { repeat } from 'lit/directives/repeat.js';
import type { Counts, File, State, Test, TestError } from './state.ts';
import { duration, type Words } from './words.ts';

/** Tests of a file that are shown: more than a person reads, and little enough for any browser. */
const MAX_SHOWN = 300;

export interface ResultsView {
  state: State;
  words: Words;
  /** Files the reader opened or closed. */
  choices: Map<string, boolean>;
  choose: (file: string, open: boolean) => void;
}

export function resultsView(view: ResultsView): TemplateResult {
  const { state, words } = view;
  const files = [...state.files.values()];
  const some = files.some((file) => file.tests.size > 0 || file.verdict);
  return html`
    <section class="card" aria-labelledby="tests">
      <h2 id="tests">${words.tests}</h2>
      ${state.head ? summary(state, state.head.counts, words) : nothing}
      ${some ? nothing : html`<p class="dim hint">${words.noTests}</p>`}
      ${repeat(
        files,
        (file) => file.id,
        (file) => fileView(file, view),
      )}
    </section>
  `;
}

function summary(state: State, counts: Counts, words: Words) {
  const known = [...state.files.values()].reduce((sum, file) => sum + file.tests.size, 0);
  const over = counts.passed + counts.failed + counts.skipped + counts.todo;
  return html`
    <p class="counts" id="counts">${counted(counts, words)}</p>
    ${known ? html`<progress max=${known} value=${over} aria-label=${words.tests}></progress>` : nothing}
  `;
}

function counted(counts: Counts, words: Words) {
  const kinds = ['failed', 'passed', 'skipped', 'todo'] as const;
  return kinds
    .filter((kind) => counts[kind] > 0)
    .map((kind) => html`<span class="counted ${kind}">${counts[kind]} ${words[kind]}</span>`);
}

function fileView(file: File, view: ResultsView) {
  const { words, state, choices, choose } = view;
  const running = state.head?.running?.file === file.id;
  const bad = file.counts.failed > 0 || file.errors.length > 0;
  const open = choices.get(file.id) ?? (bad || running);
  const kind = file.verdict ?? (running ? 'running' : 'next');
  const label = file.verdict ? words.verdict[file.verdict] : running ? words.running : '';
  return html`
    <details
      class="file"
      ?open=${open}
      @toggle=${(event: Event) => {
        const now = (event.target as HTMLDetailsElement).open;
        if (now !== open) choose(file.id, now);
      }}
    >
      <summary>
        <span class="mark ${kind}" aria-hidden="true"></span>
        <span class="name">${file.id}</span>
        <span class="dim">
          <span class=${label ? 'hidden' : ''}>${label}</span>
          ${file.verdict || running ? counted(file.counts, words) : nothing}
          ${file.durationMs === null || file.notRun ? nothing : duration(file.durationMs)}
        </span>
      </summary>
      ${open ? inside(file, view) : nothing}
    </details>
  `;
}

function inside(file: File, { words, state }: ResultsView) {
  const tests = [...file.tests.values()];
  // Where not all can be shown, those that failed can.
  const shown =
    tests.length > MAX_SHOWN
      ? [...tests.filter((test) => test.state === 'failed'), ...tests.filter((test) => test.state !== 'failed')].slice(
          0,
          MAX_SHOWN,
        )
      : tests;
  return html`
    ${file.notRun ? html`<p class="dim" lang="en">${file.notRun}</p>` : nothing}
    ${file.errors.map((error) => errorView(error, words))}
    <ul class="tests">
      ${repeat(
        shown,
        (test) => test.id,
        (test) => testView(test, words, state.head?.running?.test === test.id),
      )}
    </ul>
    ${tests.length > shown.length ? html`<p class="dim">${words.more(tests.length - shown.length)}</p>` : nothing}
  `;
}

function testView(test: Test, words: Words, running: boolean) {
  const kind = test.state ?? (running ? 'running' : 'next');
  const label = test.state ? words[test.state] : running ? words.running : words.waitingTest;
  return html`
    <li>
      <div class="row">
        <span class="mark ${kind}" aria-hidden="true"></span>
        <span class="name">${test.path.join(' › ')}<span class="hidden">, ${label}</span></span>
        <span class="dim">
          ${test.retries ? html`${words.retried(test.retries)} ` : nothing}
          ${test.durationMs === null || test.state === 'skipped' || test.state === 'todo' ? nothing : duration(test.durationMs)}
        </span>
      </div>
      ${test.note ? html`<p class="dim note">${test.note}</p>` : nothing}
      ${test.errors.map((error) => errorView(error, words))}
      ${test.cut ? html`<p class="dim note">${words.cut}</p>` : nothing}
    </li>
  `;
}

/** An error with everything it carries. */
export function errorView(error: TestError, words: Words): TemplateResult {
  const frames = error.frames ?? [];
  return html`
    <div class="error">
      <p class="message"><strong>${error.hook ? `${error.hook}: ` : ''}${error.name || 'Error'}</strong>: ${error.message}</p>
      ${error.diff ? block(words.diff, diff(error.diff)) : nothing}
      ${error.codeFrame ? block(words.codeFrame, error.codeFrame) : nothing}
      ${
        frames.length > 0
          ? block(
              words.stack,
              frames
                .map((frame) => `${frame.function || '<anonymous>'}  ${frame.file}:${frame.line}:${frame.column}`)
                .join('\n'),
            )
          : nothing
      }
      ${error.cause ? html`<p class="dim">${words.causedBy}</p>${errorView(error.cause, words)}` : nothing}
    </div>
  `;
}

/** Long lines scroll, so it can be reached by keyboard. */
function block(label: string, content: unknown) {
  return html`<pre tabindex="0" role="region" aria-label=${label}>${content}</pre>`;
}

function diff(text: string) {
  return text.split('\n').map((line) => {
    const kind = line.startsWith('+') ? 'received' : line.startsWith('-') ? 'expected' : '';
    return html`<span class=${kind}>${line}\n</span>`;
  });
}
