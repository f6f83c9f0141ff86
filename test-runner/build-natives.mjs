// Turns every use of a built-in in the bundled runtime into a use of `src/runtime/natives.ts`, which took it at injection.
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'acorn';
import { build } from 'esbuild';
import MagicString from 'magic-string';

const natives = join(dirname(fileURLToPath(import.meta.url)), 'src/runtime/natives.ts');

/** Methods that are called on built-ins of any kind; what a call means is decided by its receiver when it is made. */
const METHODS = new Set(
  `at concat every fill filter find findIndex findLast findLastIndex flat flatMap forEach includes indexOf join
  lastIndexOf map pop push reduce reduceRight reverse shift slice some sort splice unshift entries keys values
  charAt charCodeAt codePointAt endsWith match matchAll normalize padEnd padStart repeat replace replaceAll search split
  startsWith substring toLowerCase toUpperCase trim trimEnd trimStart get set has delete add clear exec test apply call
  bind then catch finally getTime toISOString toString addEventListener removeEventListener abort`.split(/\s+/),
);
/** Names whose members are taken one by one; `window.` is how our own code asks for a function of the page. */
const NAMESPACES = new Set(
  'Object Array JSON Math Number String Reflect Promise Symbol Date Function BigInt RegExp window'.split(' '),
);
/** Names that are taken as they are. The timers are not among them: Vitest takes its own, and means the current ones else. */
const GLOBALS = new Set([
  ...NAMESPACES,
  ...'Map Set WeakMap WeakSet Proxy Error TypeError SyntaxError RangeError AggregateError Boolean'.split(' '),
  ...'globalThis Uint8Array ArrayBuffer AbortController MessageChannel ErrorEvent parseInt parseFloat isNaN'.split(' '),
]);
const COLLECTIONS = new Set(['Map', 'Set', 'WeakMap', 'WeakSet']);
const PROMISES = new Set(['then', 'catch', 'finally']);
const COMBINATORS = new Set(['all', 'allSettled', 'race']);
/** Depends on the caller, or is a value that tests may set. */
const LEFT = new Set(['Error', 'prototype', 'length', 'name']);

export async function withNatives(code) {
  const { outputFiles } = await build({
    entryPoints: [natives],
    bundle: true,
    write: false,
    format: 'esm',
    target: ['es2022', 'safari16'],
    legalComments: 'none',
  });
  const { text, taken } = rewrite(code);
  const functions = outputFiles[0].text.replace(/export (\{[^}]*\});\s*$/, 'return $1;');
  return `((natives) => {\n${taken}\nconst end = natives.begin();\ntry {\n${text}\n} finally {\nend();\n}\n})((() => {\n${functions}\n})());`;
}

function rewrite(code) {
  const tree = parse(code, { ecmaVersion: 2024, sourceType: 'script' });
  const out = new MagicString(code);
  const taken = new Map();
  const take = (name, expression) => {
    taken.set(name, expression);
    return name;
  };
  const visitor = new Visitor(out, take);
  visitor.visit(tree, { parent: undefined, tries: 0, async: false });
  const lines = [...taken].map(([name, expression]) => `const ${name} = ${expression};`);
  return { text: out.toString(), taken: lines.join('\n') };
}

class Visitor {
  constructor(out, take) {
    Object.assign(this, { out, take });
  }

  visit(node, context) {
    const { type } = node;
    const inner = this.enter(node, context);
    const only = this[type]?.(node, inner);
    for (const key of Object.keys(node)) {
      if (only !== undefined && only !== key) continue;
      const value = node[key];
      if (Array.isArray(value)) for (const child of value) this.child(child, node, key, inner);
      else this.child(value, node, key, inner);
    }
  }

  child(value, parent, key, context) {
    if (typeof value?.type !== 'string') return;
    this.visit(value, { ...context, parent, key });
  }

  enter(node, context) {
    if (/Function/.test(node.type)) return { ...context, async: node.async && !node.generator, tries: 0 };
    if ('superClass' in node)
      return { ...context, superclass: COLLECTIONS.has(node.superClass?.name) && node.superClass.name };
    if (node.type === 'TryStatement') return { ...context, tries: context.tries + 1 };
    return context;
  }

  CallExpression(node, { superclass }) {
    const { callee } = node;
    if (node.optional || callee.type !== 'MemberExpression' || callee.computed) return;
    const name = callee.property.name;
    const taken = this.static(callee);
    if (taken && callee.object.type === 'MemberExpression') {
      // `Object.prototype.hasOwnProperty(key)` is about the prototype itself.
      this.replace(node, this.take('$invoke', 'natives.invoke'), taken, this.text(callee.object));
      return 'arguments';
    }
    if (!METHODS.has(name) || taken) return;
    if (callee.object.type === 'Super') {
      if (superclass)
        this.replace(node, this.take('$invoke', 'natives.invoke'), this.ofSuper(superclass, name), 'this');
      return;
    }
    const method = `natives.method("${name}")`;
    if (!callee.optional && !inChain(callee.object)) {
      const slow = this.take(`$${name}`, method);
      const count = node.arguments.length;
      const quick = count <= 2 && !PROMISES.has(name) && node.arguments.every(({ type }) => type !== 'SpreadElement');
      return this.unfold(node, quick ? this.take(`$${name}_${count}`, quickly(name, slow, count)) : slow);
    }
    this.unfold(node, this.take(`$${name}_optional`, `natives.optional(${method})`), true);
  }

  /** `object.name(a)` becomes `$name(object, a)`, or `$name(object, () => [a])`; the object may stand in parentheses. */
  unfold(node, name, lazy = false) {
    const { callee, arguments: args } = node;
    if (lazy && args.some(awaits)) throw new Error(`an await in a chain: ${this.text(node)}`);
    this.out.appendLeft(callee.start, `${name}(`);
    const dot = this.dotBefore(callee.property.start);
    const next = lazy ? ', () => [' : args.length ? ', ' : '';
    this.out.overwrite(dot, this.openOf(node), next);
    if (lazy) this.out.appendRight(node.end - 1, ']');
  }

  /** Where the arguments begin: at the first one, or at the closing parenthesis. */
  openOf({ arguments: args, callee, end }) {
    if (!args.length) return end - 1;
    return this.out.original.indexOf('(', callee.end) + 1;
  }

  dotBefore(position) {
    const dot = this.out.original.lastIndexOf('.', position);
    return this.out.original[dot - 1] === '?' ? dot - 1 : dot;
  }

  /** What goes on behind an optional call goes on only where there is something. */
  continued(node) {
    const { object } = node;
    if (node.optional || object.type !== 'CallExpression' || !inChain(object) || node.computed) return;
    if (METHODS.has(object.callee.property?.name)) this.out.appendLeft(this.dotBefore(node.property.start), '?');
  }

  text(node) {
    return this.out.original.slice(node.start, node.end);
  }

  replace(node, name, ...first) {
    this.out.overwrite(node.callee.start, this.openOf(node), `${name}(${[...first, ''].join(', ')}[`);
    this.out.appendRight(node.end - 1, ']');
  }

  ofSuper(owner, name) {
    return this.take(`$${owner}_prototype_${name}`, `natives.take("${owner}", "prototype", "${name}")`);
  }

  MemberExpression(node, { parent, key }) {
    const name = this.static(node);
    const isCalled = parent.type === 'CallExpression' && key === 'callee' && METHODS.has(node.property.name);
    if (!name && !isCalled) this.continued(node);
    if (!name || isTarget(parent, key)) return;
    this.out.overwrite(node.start, node.end, name);
    return 'nothing';
  }

  /** The constant for `Object.keys` or `Array.prototype.slice`, if the node is such a thing. */
  static(node) {
    if (node.computed || node.optional) return;
    const property = node.property.name;
    const { object } = node;
    if (object.type === 'Identifier' && NAMESPACES.has(object.name) && !LEFT.has(property)) {
      const combinator = object.name === 'Promise' && COMBINATORS.has(property);
      const expression = combinator
        ? `natives.combinators.${property}`
        : `natives.take("${object.name}", "${property}")`;
      return this.take(`$${object.name}_${property}`, expression);
    }
    const onPrototype = object.type === 'MemberExpression' && !object.computed && object.property.name === 'prototype';
    const owner = onPrototype && object.object.type === 'Identifier' && object.object.name;
    if (!owner || property === 'constructor' || !(NAMESPACES.has(owner) || COLLECTIONS.has(owner))) return;
    return this.take(`$${owner}_prototype_${property}`, `natives.take("${owner}", "prototype", "${property}")`);
  }

  Identifier(node, { parent, key }) {
    if (!GLOBALS.has(node.name) || node.name === 'window') return;
    if (parent.type === 'MemberExpression' && key === 'property' && !parent.computed) return;
    if ((parent.type === 'Property' || /^(Method|Property)Definition$/.test(parent.type)) && key === 'key') return;
    this.take(node.name, `natives.global("${node.name}")`);
  }

  VariableDeclarator({ id, init }) {
    return this.destructured(id, init, 'id');
  }

  AssignmentExpression({ left, right }) {
    return this.destructured(left, right, 'left');
  }

  /** `const { bind, call } = Function.prototype` */
  destructured(pattern, from, rest) {
    const source = from?.type === 'MemberExpression' && from.property.name === 'prototype' ? from.object : from;
    if (pattern.type !== 'ObjectPattern' || !NAMESPACES.has(source?.name)) return;
    const path = source === from ? [source.name] : [source.name, 'prototype'];
    const members = pattern.properties.map(({ key: { name } }) => {
      const taken = [...path, name];
      const expression = `natives.take(${taken.map((part) => `"${part}"`).join(', ')})`;
      return `${name}: ${this.take(`$${taken.join('_')}`, expression)}`;
    });
    this.out.overwrite(from.start, from.end, `{ ${members.join(', ')} }`);
    return rest;
  }

  NewExpression(node) {
    // `new Set(list)` asks for `add`.
    const { callee, arguments: args } = node;
    if (!COLLECTIONS.has(callee.name) || !args.length) return;
    this.out.overwrite(
      node.start,
      args[0].start,
      `${this.take('$collection', 'natives.collection')}("${callee.name}", `,
    );
    return 'arguments';
  }

  ForInStatement(node) {
    const { left, right } = node;
    const word = this.out.original.indexOf(' in ', left.end);
    this.out.overwrite(word, right.start, ` of ${this.take('$keysIn', 'natives.keysIn')}(`);
    this.out.appendLeft(right.end, ')');
  }

  ReturnStatement(node, { async, tries }) {
    // Inside `try` an `await` would catch what is the caller's to catch.
    if (async && tries === 0 && node.argument) this.awaited(node.argument);
  }

  ArrowFunctionExpression(node, { async }) {
    if (async && node.expression) this.awaited(node.body);
  }

  /** An async function asks what it returns for its `then`; `await` does not, where it is a promise. */
  awaited(node) {
    if (!/^(CallExpression|Identifier|ConditionalExpression|LogicalExpression)$/.test(node.type)) return;
    this.out.appendLeft(node.start, 'await (');
    this.out.appendRight(node.end, ')');
  }
}

/** Asks the object first: as long as it has one of the untouched methods, the engine's own call is the quickest. */
function quickly(name, slow, count) {
  const args = ['a', 'b'].slice(0, count).join(', ');
  const all = ['object', ...(args ? [args] : [])].join(', ');
  return `(([m, n, o]) => (${all}) => {
  const own = object.${name};
  return own !== undefined && (own === m || own === n || own === o) ? object.${name}(${args}) : ${slow}(${all});
})(natives.untouchedMethods("${name}"))`;
}

function inChain(node) {
  for (let at = node; at; at = at.object ?? at.callee) {
    if (at.optional) return true;
    if (at.type !== 'MemberExpression' && at.type !== 'CallExpression') return false;
  }
  return false;
}

function awaits(node) {
  if (!node || typeof node !== 'object') return false;
  if (node.type === 'AwaitExpression' || node.type === 'YieldExpression') return true;
  return !/Function/.test(node.type ?? '') && Object.values(node).flat().some(awaits);
}

function isTarget(parent, key) {
  if (parent.type === 'AssignmentExpression' && key === 'left') return true;
  if (parent.type === 'UpdateExpression') return true;
  return parent.type === 'UnaryExpression' && parent.operator === 'delete';
}
