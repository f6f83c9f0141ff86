import { css } from 'lit';

export const styles = css`
  :host {
    --paper: #f4f5f7;
    --card: #fff;
    --ink: #1a1d21;
    --dim: #5a6270;
    --line: #dde1e7;
    --good: #11713f;
    --bad: #b3261e;
    --warn: #8a5a00;
    --busy: #1f5fbf;
    --good-paper: #e4f5ea;
    --bad-paper: #fdeceb;
    --warn-paper: #fff4dc;
    --busy-paper: #e8f0fd;
    --code: #f4f5f7;
    display: block;
    min-height: 100vh;
    background: var(--paper);
    color: var(--ink);
    font: 16px/1.5 system-ui, -apple-system, 'Apple SD Gothic Neo', 'Noto Sans KR', 'Malgun Gothic', sans-serif;
    -webkit-text-size-adjust: 100%;
  }
  @media (prefers-color-scheme: dark) {
    :host {
      --paper: #101216;
      --card: #191c22;
      --ink: #e8eaee;
      --dim: #a3abb8;
      --line: #2e333c;
      --good: #6fd39a;
      --bad: #ff9a92;
      --warn: #f0c063;
      --busy: #8fb8ff;
      --good-paper: #12291d;
      --bad-paper: #331917;
      --warn-paper: #2f2510;
      --busy-paper: #172338;
      --code: #101216;
    }
  }
  * { box-sizing: border-box; }
  h1, h2, h3, p, ul, ol, dl, dd, figure { margin: 0; padding: 0; }
  ul { list-style: none; }
  h1 { font-size: 1.125rem; }
  h2 { font-size: 1rem; margin-bottom: 0.75rem; }
  h3 { font-size: 0.8125rem; color: var(--dim); margin: 1rem 0 0.5rem; font-weight: 600; }
  :focus-visible { outline: 3px solid var(--busy); outline-offset: 2px; border-radius: 4px; }
  .hidden {
    position: absolute;
    width: 1px;
    height: 1px;
    overflow: hidden;
    clip-path: inset(50%);
    white-space: nowrap;
  }
  .dim { color: var(--dim); font-size: 0.875rem; }
  header, main { max-width: 1360px; margin: 0 auto; }
  header { display: flex; align-items: center; gap: 0.75rem; padding: 1rem 1.25rem 0.75rem; }
  .chip {
    font-size: 0.8125rem;
    color: var(--dim);
    border: 1px solid var(--line);
    border-radius: 99px;
    padding: 0.0625rem 0.625rem;
  }
  button {
    font: inherit;
    font-size: 0.875rem;
    color: var(--ink);
    background: var(--card);
    border: 1px solid var(--line);
    border-radius: 8px;
    padding: 0.5rem 0.875rem;
    min-height: 40px;
    cursor: pointer;
  }
  button:hover { border-color: var(--busy); }
  #language { margin-left: auto; }
  .status {
    display: flex;
    flex-wrap: wrap;
    gap: 0.125rem 0.75rem;
    align-items: baseline;
    padding: 0.75rem 1rem;
    border-radius: 12px;
    width: calc(100% - 2.5rem);
    max-width: calc(1360px - 2.5rem);
    margin: 0 auto;
    overflow-wrap: anywhere;
  }
  .status strong { font-size: 1.125rem; }
  .good { background: var(--good-paper); color: var(--good); }
  .bad { background: var(--bad-paper); color: var(--bad); }
  .warn { background: var(--warn-paper); color: var(--warn); }
  .busy { background: var(--busy-paper); color: var(--busy); }
  main { display: grid; gap: 1rem; padding: 1rem 1.25rem 2rem; grid-template-columns: minmax(0, 1fr); }
  .side { display: grid; gap: 1rem; align-content: start; grid-template-columns: minmax(0, 1fr); }
  @media (min-width: 900px) {
    main { grid-template-columns: minmax(0, 380px) minmax(0, 1fr); }
  }
  .card { background: var(--card); border: 1px solid var(--line); border-radius: 12px; padding: 1rem 1.125rem; }
  .code { display: grid; gap: 0.75rem; justify-items: center; text-align: center; }
  .code svg { width: 100%; max-width: 300px; aspect-ratio: 1; border-radius: 8px; }
  figcaption { display: grid; gap: 0.5rem; justify-items: center; }
  #remaining { font-variant-numeric: tabular-nums; }
  .alert { padding: 0.75rem 0.875rem; border-radius: 8px; margin-bottom: 0.75rem; overflow-wrap: anywhere; }
  .code + .alert { margin: 0.75rem 0 0; }
  dl { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: 0.25rem 0.875rem; }
  dt { color: var(--dim); font-size: 0.875rem; }
  dd { overflow-wrap: anywhere; }
  .steps { list-style: none; }
  .steps li { position: relative; padding: 0.125rem 0 0.125rem 1.75rem; color: var(--dim); }
  .steps li::before {
    content: '';
    position: absolute;
    left: 0.25rem;
    top: 0.5rem;
    width: 0.75rem;
    height: 0.75rem;
    border-radius: 50%;
    border: 2px solid var(--line);
  }
  .steps .done { color: var(--ink); }
  .steps .done::before { background: var(--good); border-color: var(--good); }
  .steps .now { color: var(--ink); font-weight: 600; background: none; }
  .steps .now p { font-weight: 400; }
  .steps .now::before { border-color: var(--busy); background: var(--busy-paper); }
  #waiting { margin-top: 0.5rem; font-variant-numeric: tabular-nums; }
  .counts { font-size: 1.125rem; }
  .counted { margin-right: 0.375rem; }
  .hint { margin-bottom: 0.75rem; }
  .passed { color: var(--good); }
  .failed, .notRun { color: var(--bad); }
  .skipped, .todo { color: var(--dim); }
  progress { width: 100%; height: 0.5rem; margin: 0.25rem 0 0.75rem; accent-color: var(--busy); }
  .file { border-top: 1px solid var(--line); }
  .file summary { cursor: pointer; padding: 0.625rem 0; display: flex; gap: 0.5rem; align-items: baseline; }
  .file summary::-webkit-details-marker { display: none; }
  .file summary::before { content: '▸'; color: var(--dim); flex: none; width: 0.75rem; }
  .file[open] > summary::before { content: '▾'; }
  .name { flex: 1; min-width: 0; overflow-wrap: anywhere; }
  .file summary .name { font-weight: 600; }
  .tests { padding: 0 0 0.75rem 1.25rem; }
  .tests li { padding: 0.25rem 0; }
  .row { display: flex; gap: 0.5rem; align-items: baseline; }
  .row .dim, summary .dim { flex: none; white-space: nowrap; font-variant-numeric: tabular-nums; }
  .note { padding-left: 1.5rem; }
  .mark { flex: none; width: 1rem; text-align: center; font-weight: 700; }
  .mark.passed::before { content: '✓'; }
  .mark.failed::before { content: '✕'; }
  .mark.skipped::before { content: '↷'; }
  .mark.todo::before { content: '◦'; }
  .mark.notRun::before { content: '–'; }
  .mark.next::before { content: '·'; color: var(--dim); }
  .mark.running::before { content: '●'; color: var(--busy); }
  .error { border-left: 3px solid var(--bad); padding: 0.25rem 0 0.25rem 0.75rem; margin: 0.375rem 0 0.625rem 0.375rem; }
  .error .message { overflow-wrap: anywhere; white-space: pre-wrap; }
  .error .message strong { color: var(--bad); }
  pre, .console { font: 13px/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, 'D2Coding', monospace; }
  pre {
    background: var(--code);
    border: 1px solid var(--line);
    border-radius: 8px;
    padding: 0.625rem 0.75rem;
    margin: 0.5rem 0 0;
    overflow-x: auto;
  }
  .received { color: var(--bad); }
  .expected { color: var(--good); }
  .notices { display: grid; gap: 0.75rem; }
  .notices p { overflow-wrap: anywhere; }
  .notices strong { font-size: 0.875rem; }
  .notices .info > strong { color: var(--busy); }
  .notices .warning > strong { color: var(--warn); }
  .notices .pageLost > strong, .notices .exception > strong { color: var(--bad); }
  .console { max-height: 24rem; overflow: auto; }
  .console li { display: flex; gap: 0.625rem; padding: 0.1875rem 0; border-bottom: 1px solid var(--line); }
  .console .text { flex: 1; min-width: 0; white-space: pre-wrap; overflow-wrap: anywhere; }
  .console .level { flex: none; width: 4.25rem; color: var(--dim); }
  .console .error .level, .console .error .text { color: var(--bad); }
  .console .warning .level, .console .warning .text { color: var(--warn); }
  .console li.error, .console li.warning { border-left: 0; margin: 0; padding-left: 0; }
  .filters { display: flex; flex-wrap: wrap; gap: 0.5rem; margin-bottom: 0.5rem; }
  .filters input { flex: 1 1 12rem; }
  input, select {
    font: inherit;
    font-size: 0.875rem;
    color: var(--ink);
    background: var(--card);
    border: 1px solid var(--line);
    border-radius: 8px;
    padding: 0.375rem 0.625rem;
    min-height: 40px;
    min-width: 0;
    max-width: 100%;
  }
  select { flex: 0 1 10rem; }
  #any-test { overflow-wrap: anywhere; }
  button.small { min-height: 0; padding: 0.125rem 0.5rem; font-size: 0.8125rem; }
  #timeline-counts { margin-bottom: 0.5rem; }
  #transport .dim { font-weight: 400; margin-left: 0.25rem; }
  .timeline {
    max-height: 30rem;
    min-height: 4rem;
    overflow: auto;
    border: 1px solid var(--line);
    border-radius: 8px;
    background: var(--code);
    overflow-anchor: none;
  }
  .all { position: relative; overflow: hidden; }
  .lines { position: absolute; inset: 0 0 auto; will-change: transform; }
  .line {
    display: grid;
    grid-template-columns: 6.75rem 1rem 2rem 5.5rem minmax(0, 1fr) 4.5rem;
    gap: 0.5rem;
    align-items: center;
    height: 32px;
    padding: 0 0.625rem;
    font: 13px/1 ui-monospace, SFMono-Regular, Menlo, Consolas, 'D2Coding', monospace;
    cursor: pointer;
    white-space: nowrap;
  }
  .line > span { overflow: hidden; text-overflow: ellipsis; line-height: 1.5; font-size: inherit; }
  .line:hover { background: var(--busy-paper); }
  .line[aria-selected='true'] { background: var(--busy-paper); box-shadow: inset 3px 0 0 var(--busy); }
  .line .time, .line .size { font-variant-numeric: tabular-nums; }
  .line .time { color: var(--dim); }
  .line .size { text-align: right; }
  .line .way { font-weight: 700; }
  .line.in .way { color: var(--good); }
  .line.out .way { color: var(--busy); }
  .detail { margin-top: 0.75rem; }
  .detail h3 { margin-top: 0; }
  .detail pre { max-height: 24rem; overflow: auto; }
  @media (max-width: 600px) {
    .timeline { max-height: 22rem; }
    .line { grid-template-columns: 1rem 1.5rem minmax(0, 1fr) 4.25rem; }
    .line .time, .line .type { display: none; }
    .filters > * { flex: 1 1 40%; }
    header, main { padding-left: 0.75rem; padding-right: 0.75rem; }
    .status { width: calc(100% - 1.5rem); }
    .console li { flex-wrap: wrap; gap: 0 0.625rem; }
    .console .text { flex-basis: 100%; order: 3; }
    .tests { padding-left: 0; }
    .file summary { flex-wrap: wrap; }
    .file summary .dim { flex-basis: 100%; padding-left: 2.75rem; }
  }
  @media (prefers-reduced-motion: no-preference) {
    .mark.running::before { animation: blink 1.2s ease-in-out infinite alternate; }
    @keyframes blink { to { opacity: 0.35; } }
  }
`;
