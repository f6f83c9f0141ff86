// The `Runtime` domain.

import {
  apply,
  create,
  defineProperty,
  type Fields,
  getPrototypeOf,
  isArray,
  NativeError,
  NativePromise,
  NativeTypeError,
  own,
  record,
  settle,
  win,
} from '../shared/natives';
import type { Dispatcher, Reply } from './dispatch';
import { exceptionDetails } from './exceptions';
import type { Ladder } from './ladder';
import { argument, describe, find, ProtocolError, propertiesOf, release, releaseGroup, type Shape } from './remote';

const NONE: Fields = create(null);
const INVALID_PARAMS = -32602;

export interface Runtime {
  /** CDP id of this document's context. */
  contextId: number;
  enabled: () => boolean;
}

/** Adds the domain. `onEnable` is called each time a client enables it. */
export function addRuntime(
  dispatcher: Dispatcher,
  contextId: number,
  documentId: string,
  ladder: Ladder,
  onEnable: () => void,
): Runtime {
  let enabled = false;

  function shapeOf(params: Fields): Shape {
    const group = params.objectGroup;
    return {
      group: typeof group === 'string' ? group : '',
      byValue: own(params, 'returnByValue') === true,
      preview: own(params, 'generatePreview') === true,
    };
  }

  /** Runs `code` once, and replies with its value or with what it threw. */
  function run(params: Fields, reply: Reply, code: () => unknown): void {
    const shape = shapeOf(params);
    const thrown = (error: unknown, inPromise: boolean) => {
      const plain: Shape = { group: shape.group, preview: shape.preview ?? false };
      reply(
        record({
          result: describe(error, plain),
          exceptionDetails: exceptionDetails(error, plain, contextId, inPromise),
        }),
      );
    };
    let value: unknown;
    try {
      value = code();
    } catch (error) {
      if (error instanceof ProtocolError) throw error;
      thrown(error, false);
      return;
    }
    if (own(params, 'awaitPromise') !== true || !isThenable(value)) {
      reply(record({ result: describe(value, shape) }));
      return;
    }
    const done = (result: unknown) => {
      try {
        reply(record({ result: describe(result, shape) }));
      } catch (error) {
        thrown(error instanceof ProtocolError ? new NativeError(error.message) : error, false);
      }
    };
    const rejected = (error: unknown) => thrown(error, true);
    try {
      settle(value as Promise<unknown>, done, rejected);
    } catch {
      // Not a promise of the engine's own: whatever its `then` does.
      settle(new NativePromise((resolve) => resolve(value)), done, rejected);
    }
  }

  dispatcher.handle({
    'Runtime.enable'(_params, reply) {
      enabled = true;
      const auxData = record({ isDefault: true, type: 'default', frameId: 'main' });
      const context = record({ id: contextId, origin: win.location.origin, name: '', uniqueId: documentId, auxData });
      dispatcher.emit('Runtime.executionContextCreated', record({ context }), true);
      onEnable();
      reply(NONE);
    },
    'Runtime.disable'(_params, reply) {
      enabled = false;
      reply(NONE);
    },
    'Runtime.evaluate'(params, reply, command) {
      const source = own(params, 'expression');
      if (typeof source !== 'string')
        throw new ProtocolError(INVALID_PARAMS, 'Invalid parameters: expression must be a string');
      ladder.run(source, command, (code) => run(params, reply, code));
    },
    'Runtime.callFunctionOn'(params, reply, command) {
      const source = own(params, 'functionDeclaration');
      if (typeof source !== 'string')
        throw new ProtocolError(INVALID_PARAMS, 'Invalid parameters: functionDeclaration must be a string');
      const given = own(params, 'arguments');
      const values: unknown[] = [];
      if (isArray(given)) for (let i = 0; i < given.length; i++) values[i] = argument(given[i]);
      const id = own(params, 'objectId');
      const self = id === undefined ? win : find(id).value;
      ladder.run(`(${source}\n)`, command, (code) =>
        run(params, reply, () => {
          const called = code();
          if (typeof called !== 'function')
            throw new ProtocolError(-32000, 'Given expression does not evaluate to a function');
          return apply(called, self, values);
        }),
      );
    },
    'Runtime.getProperties'(params, reply) {
      const { value, group } = find(own(params, 'objectId'));
      const shape: Shape = { group, preview: own(params, 'generatePreview') === true };
      const object = value as object;
      const proto = getPrototypeOf(object) as unknown;
      reply(
        record({
          result: propertiesOf(object, own(params, 'ownProperties') === true, shape),
          internalProperties: [record({ name: '[[Prototype]]', value: describe(proto, shape) })],
        }),
      );
    },
    'Runtime.releaseObject'(params, reply) {
      release(own(params, 'objectId'));
      reply(NONE);
    },
    'Runtime.releaseObjectGroup'(params, reply) {
      releaseGroup(own(params, 'objectGroup'));
      reply(NONE);
    },
    'Runtime.addBinding'(params, reply) {
      const name = bindingName(params);
      const value = (payload: unknown) => {
        // Chrome's rule and words.
        if (typeof payload !== 'string') throw new NativeTypeError('Invalid arguments: should be exactly one string.');
        dispatcher.emit('Runtime.bindingCalled', record({ name, payload, executionContextId: contextId }), true);
      };
      defineProperty(win, name, record({ value, configurable: true, writable: true }));
      reply(NONE);
    },
    'Runtime.removeBinding'(params, reply) {
      // As in Chrome, the function stays where it was handed on.
      delete (win as unknown as Fields)[bindingName(params)];
      reply(NONE);
    },
    'Runtime.runIfWaitingForDebugger'(_params, reply) {
      reply(NONE);
    },
  });

  return { contextId, enabled: () => enabled };
}

function bindingName(params: Fields): string {
  const name = own(params, 'name');
  if (typeof name !== 'string' || name === '')
    throw new ProtocolError(INVALID_PARAMS, 'Invalid parameters: name must be a string');
  return name;
}

function isThenable(value: unknown): boolean {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return false;
  try {
    return typeof (value as Fields).then === 'function';
  } catch {
    return false;
  }
}
