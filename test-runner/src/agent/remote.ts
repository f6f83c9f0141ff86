// Values of the page as CDP `Runtime.RemoteObject`s.

import {
  apply,
  create,
  each,
  type Fields,
  getOwnPropertyDescriptor,
  getPrototypeOf,
  hasOwn,
  isArray,
  isFiniteNumber,
  lowerCase,
  NativeError,
  ownKeys,
  record,
  slice,
  sourceOf,
  tagOf,
  toText,
} from '../shared/natives';
import { framesOf, printFrames } from './stack';

/** Chrome's limit and words for values that are nested too deep, or contain themselves. */
const MAX_DEPTH = 1000;
export const TOO_DEEP = 'Object reference chain is too long';
const NOT_BY_VALUE = "Object couldn't be returned by value";
/** Objects that console messages keep alive; the oldest are let go. */
const MAX_CONSOLE_OBJECTS = 500;
/** Properties of a preview, characters of a value in it, and of a function's source. */
const PREVIEW_PROPERTIES = 5;
const PREVIEW_ITEMS = 100;
const PREVIEW_TEXT = 100;
const MAX_SOURCE = 10_000;

export const CONSOLE_GROUP = 'console';

/** A failure that the protocol reports as an error of the command. */
export class ProtocolError {
  constructor(
    readonly code: number,
    readonly message: string,
  ) {}
}

interface Held {
  value: unknown;
  group: string;
}

const held: Record<string, Held> = create(null);
let lastId = 0;
const consoleIds: string[] = [];
let consoleStart = 0;
let ownScript = '';

export function setOwnScript(url: string): void {
  ownScript = url;
}

export function hold(value: unknown, group: string): string {
  const id = `${++lastId}`;
  held[id] = { value, group };
  if (group === CONSOLE_GROUP) {
    consoleIds[consoleIds.length] = id;
    if (consoleIds.length - consoleStart > MAX_CONSOLE_OBJECTS) {
      delete held[consoleIds[consoleStart] as string];
      delete consoleIds[consoleStart++];
    }
  }
  return id;
}

export function find(id: unknown): Held {
  const found = typeof id === 'string' ? held[id] : undefined;
  if (!found) throw new ProtocolError(-32000, 'Could not find object with given id');
  return found;
}

export function release(id: unknown): void {
  if (typeof id === 'string') delete held[id];
}

export function releaseGroup(group: unknown): void {
  each(ownKeys(held) as string[], (id) => {
    if (held[id]?.group === group) delete held[id];
  });
}

/** How a value is to be described. */
export interface Shape {
  group: string;
  byValue?: boolean;
  preview?: boolean;
}

export function describe(value: unknown, shape: Shape): Fields {
  const type = typeof value;
  if (value === null) return record({ type: 'object', subtype: 'null', value: null });
  if (type === 'undefined') return record({ type });
  if (type === 'string' || type === 'boolean') return record({ type, value });
  if (type === 'number') return number(value as number);
  if (type === 'bigint') {
    const text = `${toText(value)}n`;
    return record({ type, unserializableValue: text, description: text });
  }
  if (type === 'symbol') {
    if (shape.byValue) throw new ProtocolError(-32000, NOT_BY_VALUE);
    return record({ type, description: toText(value), objectId: hold(value, shape.group) });
  }
  const object = value as object;
  if (shape.byValue) return record({ type: 'object', value: copy(object, 0) });
  const { subtype, className, description } = look(object);
  const remote = record({ type, subtype, className, description, objectId: hold(value, shape.group) });
  if (shape.preview && type === 'object') remote.preview = preview(object, subtype, description);
  return remote;
}

function number(value: number): Fields {
  const text = value === 0 && 1 / value < 0 ? '-0' : toText(value);
  const odd = !isFiniteNumber(value) || text === '-0';
  return odd
    ? record({ type: 'number', unserializableValue: text, description: text })
    : record({ type: 'number', value, description: text });
}

/** Plain data, as Chrome returns it by value: own enumerable properties, functions as `{}`, nothing for `undefined`. */
function copy(value: unknown, depth: number): unknown {
  const type = typeof value;
  if (type === 'bigint' || type === 'symbol') throw new ProtocolError(-32000, NOT_BY_VALUE);
  if (value === null || (type !== 'object' && type !== 'function')) return value;
  if (depth > MAX_DEPTH) throw new ProtocolError(-32000, TOO_DEEP);
  if (isArray(value)) {
    const list: unknown[] = [];
    for (let i = 0; i < value.length; i++) list[i] = copy(value[i], depth + 1) ?? null;
    return list;
  }
  const plain: Fields = create(null);
  const keys = ownKeys(value as object);
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i];
    if (typeof key !== 'string' || !getOwnPropertyDescriptor(value, key)?.enumerable) continue;
    plain[key] = copy((value as Fields)[key], depth + 1);
  }
  return plain;
}

interface Look {
  subtype: string | undefined;
  className: string;
  description: string;
}

/** What an object is. Runs none of the page's code where that can be avoided, and never throws. */
function look(object: object): Look {
  const className = classOf(object);
  try {
    if (typeof object === 'function') {
      return { subtype: undefined, className, description: slice(sourceOf(object), 0, MAX_SOURCE) };
    }
    if (isArray(object)) return { subtype: 'array', className, description: `${className}(${object.length})` };
    if (isError(object)) return { subtype: 'error', className, description: describeError(object) };
    return lookByTag(object, slice(tagOf(object), 8, -1), className);
  } catch {
    return { subtype: undefined, className, description: className };
  }
}

function lookByTag(object: object, tag: string, className: string): Look {
  const named = (subtype: string, description = className): Look => ({ subtype, className, description });
  switch (tag) {
    case 'Date':
      return named('date', toText(object));
    case 'RegExp':
      return named('regexp', toText(object));
    case 'Map':
    case 'Set':
      return named(lowerCase(tag), `${className}(${(object as Map<unknown, unknown>).size})`);
    case 'Promise':
    case 'WeakMap':
    case 'WeakSet':
    case 'ArrayBuffer':
    case 'DataView':
      return named(lowerCase(tag));
    default:
  }
  if (ArrayBuffer.isView(object)) return named('typedarray', `${className}(${(object as Uint8Array).length})`);
  if (typeof Node !== 'undefined' && object instanceof Node) return named('node', describeNode(object));
  return { subtype: undefined, className, description: className };
}

function classOf(object: object): string {
  try {
    for (let proto = getPrototypeOf(object); proto; proto = getPrototypeOf(proto)) {
      const maker = getOwnPropertyDescriptor(proto, 'constructor')?.value;
      const name = typeof maker === 'function' ? getOwnPropertyDescriptor(maker, 'name')?.value : undefined;
      if (typeof name === 'string' && name !== '') return name;
    }
  } catch {
    // A proxy that refuses.
  }
  return typeof object === 'function' ? 'Function' : 'Object';
}

function describeNode(node: Node): string {
  if (!(node instanceof Element)) return node.nodeName;
  const id = node.id ? `#${node.id}` : '';
  const names = node.getAttribute('class');
  return lowerCase(node.nodeName) + id + (names ? `.${names}` : '');
}

export function isError(value: unknown): value is Error {
  return (
    value instanceof NativeError ||
    (typeof value === 'object' && value !== null && tagOf(value) === '[object Error]') ||
    (typeof DOMException !== 'undefined' && value instanceof DOMException)
  );
}

/** Name, message and stack as V8 writes them; JavaScriptCore's stacks carry neither name nor message. */
export function describeError(error: Error): string {
  const name = read(error, 'name') || 'Error';
  const message = read(error, 'message');
  const head = message ? `${name}: ${message}` : name;
  return head + printFrames(framesOf(stackOf(error), ownScript));
}

/** The stack as the engine or the app gives it; anything. */
export function stackOf(error: Error): unknown {
  try {
    return error.stack;
  } catch {
    return undefined;
  }
}

function read(object: object, key: string): string {
  try {
    const value = (object as Fields)[key];
    return value === undefined ? '' : toText(value);
  } catch {
    return '';
  }
}

function preview(object: object, subtype: string | undefined, description: string): Fields {
  const properties: Fields[] = [];
  const limit = subtype === 'array' || subtype === 'typedarray' ? PREVIEW_ITEMS : PREVIEW_PROPERTIES;
  let overflow = false;
  try {
    const keys = ownKeys(object);
    for (let i = 0; i < keys.length; i++) {
      const name = keys[i];
      const found = typeof name === 'string' ? getOwnPropertyDescriptor(object, name) : undefined;
      if (!found?.enumerable) continue;
      if (properties.length >= limit) {
        overflow = true;
        break;
      }
      properties[properties.length] = previewProperty(name as string, found);
    }
  } catch {
    overflow = true;
  }
  return record({ type: 'object', subtype, description, overflow, properties });
}

function previewProperty(name: string, found: PropertyDescriptor): Fields {
  if (!hasOwn(found, 'value')) return record({ name, type: 'accessor' });
  const value: unknown = found.value;
  if (value === null) return record({ name, type: 'object', subtype: 'null', value: 'null' });
  const type = typeof value;
  if (type === 'object') {
    const { subtype, description } = look(value as object);
    return record({ name, type, subtype, value: shorten(description) });
  }
  return record({ name, type, value: type === 'function' ? '' : shorten(toText(value)) });
}

function shorten(text: string): string {
  return text.length > PREVIEW_TEXT ? `${slice(text, 0, PREVIEW_TEXT)}…` : text;
}

/** `Runtime.getProperties` of an object: its own properties, or those of its prototypes too. */
export function propertiesOf(object: object, ownOnly: boolean, shape: Shape): Fields[] {
  const list: Fields[] = [];
  const seen: Fields = create(null);
  for (let at: object | null = object; at; at = ownOnly ? null : getPrototypeOf(at)) {
    const keys = ownKeys(at);
    for (let i = 0; i < keys.length; i++) {
      const key = keys[i] as PropertyKey;
      const name = toText(key);
      if (hasOwn(seen, name)) continue;
      seen[name] = true;
      const found = getOwnPropertyDescriptor(at, key);
      if (found) list[list.length] = property(key, name, found, at === object, shape);
    }
  }
  return list;
}

function property(key: PropertyKey, name: string, found: PropertyDescriptor, isOwn: boolean, shape: Shape): Fields {
  const maybe = (value: unknown) => (value === undefined ? undefined : describe(value, shape));
  return record({
    name,
    symbol: typeof key === 'symbol' ? describe(key, shape) : undefined,
    configurable: !!found.configurable,
    enumerable: !!found.enumerable,
    isOwn,
    value: hasOwn(found, 'value') ? describe(found.value, shape) : undefined,
    writable: hasOwn(found, 'value') ? !!found.writable : undefined,
    get: maybe(found.get),
    set: maybe(found.set),
  });
}

/** A value that came with a command. */
export function argument(given: unknown): unknown {
  const fields = given as Fields;
  if (hasOwn(fields, 'objectId')) return find(fields.objectId).value;
  if (!hasOwn(fields, 'unserializableValue')) return hasOwn(fields, 'value') ? fields.value : undefined;
  const text = fields.unserializableValue as string;
  if (text === '-0') return -0;
  return slice(text, -1) === 'n' ? apply(BigInt, undefined, [slice(text, 0, -1)]) : +text;
}
