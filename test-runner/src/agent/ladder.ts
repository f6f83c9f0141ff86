// How code is run where the page's policy forbids `eval`: with `eval`; with `eval` of what a Trusted Types policy lets
// through; as a script that the relay serves; and not at all, where only what needs no `eval` is left.
//
// A rung that broke is not tried again in this document: each refusal shows in the reports of the app's own policy.

import { indirectEval, isArray, later, own, startsWith } from '../shared/natives';
import type { Command } from './dispatch';
import { ProtocolError } from './remote';
import { nameOf, type Outcome, runBlob, runServed } from './scripts';
import type { Inserted } from './stack';
import { makePolicy, trustedScript } from './trusted';
import { carryOut } from './verbs';

type Rung = 'eval' | 'trusted' | 'served' | 'none';

/** Only what our host sends: its value is of no interest, so that a blob may run it, which gives none. */
const TEST_SCRIPT = 'ait-test:';
const PROBE = 'ait-agent://probe';
/** Fetches of one script: a network that changes breaks one, or two. */
const TRIES = 3;
const TRY_AGAIN_AFTER = 500;

const FORBIDDEN =
  "The page's content security policy forbids eval, and the relay's scripts too, so no test can run in it. " +
  "In debug builds, allow the relay's address or 'unsafe-eval' in script-src, or load the agent with the page's nonce";

export interface Ladder {
  /** Runs `source` at most once; `then` is given what gives its value or throws what it threw. */
  run(source: string, command: Command, then: (code: () => unknown) => void): void;
  /** The relay's answer to a request for a script. */
  onScript(params: unknown): void;
  /** The connection is a new one: what was asked on the last one is asked again. */
  onConnected(): void;
}

interface Wanted {
  id: unknown;
  source: string;
  tries: number;
  end: (outcome: Outcome) => void;
}

export function createLadder(ask: (id: unknown) => void): Ladder {
  let rung: Rung = 'eval';
  /** What the relay was asked for and has not answered. */
  let asked: Wanted | undefined;
  let heedsNames: boolean | undefined;

  function evaluate(source: string): unknown {
    return indirectEval(rung === 'trusted' ? trustedScript(source) : source);
  }

  function holds(): boolean {
    try {
      return evaluate('1') === 1;
    } catch {
      return false;
    }
  }

  /** A policy can come with the document, or with an element of it later on. */
  function descend(): void {
    if (rung === 'eval' && !holds()) rung = makePolicy() ? 'trusted' : 'served';
    if (rung === 'trusted' && !holds()) rung = 'served';
  }

  /** JavaScriptCore does not heed `//# sourceURL` in stacks: frames of evaluated text have neither address nor position. */
  function needsAddress(name: string | undefined): name is string {
    if (name === undefined || !startsWith(name, TEST_SCRIPT)) return false;
    heedsNames ??= `${own(evaluate(`new Error()\n//# sourceURL=${PROBE}`), 'stack')}`.indexOf(PROBE) >= 0;
    return !heedsNames;
  }

  function request(wanted: Wanted): void {
    asked = wanted;
    ask(wanted.id);
  }

  function fetched(wanted: Wanted, outcome: Outcome): void {
    if (outcome.ran || outcome.forbidden || wanted.tries >= TRIES) wanted.end(outcome);
    else later(() => request(wanted), TRY_AGAIN_AFTER);
  }

  function runAsServed(source: string, command: Command, then: (code: () => unknown) => void): void {
    const resume = command.hold();
    const end = (outcome: Outcome) =>
      resume(() => {
        if (outcome.ran) {
          then(() => result(outcome));
        } else if (outcome.forbidden) {
          rung = 'none';
          then(() => carryOut(source, FORBIDDEN));
        } else {
          throw new ProtocolError(-32000, 'The script could not be fetched from the relay');
        }
      });
    request({ id: command.id, source, tries: 0, end });
  }

  return {
    run(source, command, then) {
      descend();
      if (rung === 'served') {
        runAsServed(source, command, then);
        return;
      }
      if (rung === 'none') {
        then(() => carryOut(source, FORBIDDEN));
        return;
      }
      const name = nameOf(source);
      if (!needsAddress(name)) {
        then(() => evaluate(source));
        return;
      }
      const resume = command.hold();
      runBlob(source, name, (outcome) => {
        resume(() => then(() => (outcome.ran ? result(outcome) : evaluate(source))));
      });
    },
    onScript(params) {
      const wanted = asked;
      if (!wanted || own(params, 'id') !== wanted.id) return;
      asked = undefined;
      const ticket = own(params, 'name');
      if (typeof ticket !== 'string') {
        wanted.end({ ran: false, forbidden: false });
        return;
      }
      wanted.tries++;
      const inserted = own(params, 'inserted');
      runServed(ticket, wanted.source, isArray(inserted) ? (inserted as unknown as Inserted) : [], (outcome) =>
        fetched(wanted, outcome),
      );
    },
    onConnected() {
      if (asked) ask(asked.id);
    },
  };
}

function result(outcome: Outcome & { ran: true }): unknown {
  if (outcome.thrown) throw outcome.thrown.error;
  return outcome.value;
}
