// From a command's text to its reply's.

import { create, each, type Fields, own, ownKeys, parse, toJson } from '../shared/natives';
import { ProtocolError } from './remote';

export type Reply = (result: Fields) => void;
export type Handler = (params: Fields, reply: Reply) => void;

const METHOD_NOT_FOUND = -32601;
const SERVER_ERROR = -32000;

export function createDispatcher(send: (text: string, precious: boolean) => void) {
  const handlers: Record<string, Handler> = create(null);

  function receive(text: string): void {
    let id: unknown;
    try {
      const message: unknown = parse(text);
      id = own(message, 'id');
      const method = own(message, 'method');
      if (typeof method !== 'string' || id === undefined) return;
      const handler = handlers[method];
      if (!handler) throw new ProtocolError(METHOD_NOT_FOUND, `'${method}' wasn't found`);
      let answered = false;
      handler((own(message, 'params') as Fields | undefined) ?? create(null), (result) => {
        if (answered) return;
        answered = true;
        answer(id, 'result', result);
      });
    } catch (error) {
      const known = error instanceof ProtocolError;
      const fields = create(null) as Fields;
      fields.code = known ? error.code : SERVER_ERROR;
      fields.message = known ? error.message : 'The agent could not carry the command out';
      answer(id, 'error', fields);
    }
  }

  function answer(id: unknown, key: 'result' | 'error', value: Fields): void {
    send(`{"id":${toJson(id)},"${key}":${toJson(value)}}`, true);
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

export type Dispatcher = ReturnType<typeof createDispatcher>;
