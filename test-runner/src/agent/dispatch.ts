// From a command's text to its reply's. Commands are carried out in the order in which they came, also when one takes time.

import { create, each, type Fields, own, ownKeys, parse, toJson } from '../shared/natives';
import { ProtocolError } from './remote';

export type Reply = (result: Fields) => void;

/** What a handler may need of its command besides the parameters. */
export interface Command {
  id: unknown;
  /** The commands after this one wait until the returned function was given what is left to do of it. */
  hold(): (rest: () => void) => void;
}

export type Handler = (params: Fields, reply: Reply, command: Command) => void;

const METHOD_NOT_FOUND = -32601;
const SERVER_ERROR = -32000;

export function createDispatcher(send: (text: string, precious: boolean) => void) {
  const handlers: Record<string, Handler> = create(null);
  let held = false;
  let waiting: string[] = [];

  function receive(text: string): void {
    if (held) waiting[waiting.length] = text;
    else perform(text);
  }

  function perform(text: string): void {
    let id: unknown;
    let answered = false;
    function answerOnce(key: 'result' | 'error', value: Fields): void {
      if (answered) return;
      answered = true;
      send(`{"id":${toJson(id)},"${key}":${toJson(value)}}`, true);
    }
    function attempt(task: () => void): void {
      try {
        task();
      } catch (error) {
        answerOnce('error', errorFields(error));
      }
    }
    attempt(() => {
      const message: unknown = parse(text);
      id = own(message, 'id');
      const method = own(message, 'method');
      if (typeof method !== 'string' || id === undefined) {
        answered = true;
        return;
      }
      const handler = handlers[method];
      if (!handler) throw new ProtocolError(METHOD_NOT_FOUND, `'${method}' wasn't found`);
      const params = (own(message, 'params') as Fields | undefined) ?? create(null);
      const hold = () => {
        held = true;
        return (rest: () => void) => {
          attempt(rest);
          held = false;
          goOn();
        };
      };
      handler(params, (result) => answerOnce('result', result), { id, hold });
    });
  }

  function goOn(): void {
    const texts = waiting;
    waiting = [];
    each(texts, receive);
  }

  return {
    receive,
    /** Adds commands. */
    handle(more: Record<string, Handler>): void {
      each(ownKeys(more), (method) => {
        handlers[method as string] = more[method as string] as Handler;
      });
    },
    /** Sends an event; `precious` ones are given up last when there is no room to keep them. */
    emit(method: string, params: Fields, precious = false): void {
      send(`{"method":"${method}","params":${toJson(params)}}`, precious);
    },
  };
}

function errorFields(error: unknown): Fields {
  const known = error instanceof ProtocolError;
  const fields = create(null) as Fields;
  fields.code = known ? error.code : SERVER_ERROR;
  fields.message = known ? error.message : 'The agent could not carry the command out';
  return fields;
}

export type Dispatcher = ReturnType<typeof createDispatcher>;
