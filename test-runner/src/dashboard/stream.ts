// The stream of the state: what comes in, and what becomes of it when nothing comes any more.
import { type Patch, State } from './state.ts';

/** How the other end is. */
export type Link =
  /** It has not answered yet. */
  | 'opening'
  /** It talks. */
  | 'open'
  /** It stopped talking in the middle; it is asked again. */
  | 'lost'
  /** It said everything. */
  | 'ended';

export class Stream {
  readonly state = new State();
  link: Link = 'opening';
  #source: EventSource | undefined;

  constructor(
    private readonly address: string,
    private readonly changed: () => void,
  ) {}

  open(): void {
    const source = new EventSource(this.address);
    this.#source = source;
    source.onmessage = ({ data }) => {
      this.state.apply(JSON.parse(data) as Patch, performance.now());
      this.link = 'open';
      this.changed();
    };
    source.addEventListener('end', () => {
      this.close();
      this.state.invitation = undefined;
      this.link = 'ended';
      this.changed();
    });
    source.onerror = () => {
      // Whoever showed the code is gone, and so is where it leads.
      this.state.invitation = undefined;
      this.link = 'lost';
      this.changed();
    };
  }

  close(): void {
    this.#source?.close();
  }
}
