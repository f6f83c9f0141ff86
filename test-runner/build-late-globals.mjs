// Stops the build where the recorder would look for something in the page's world while the page runs: a global inside a
// function, or a member of the window. The page may have replaced those; they are taken when the script is evaluated, or
// when the recorder is installed into a window.
import { parse } from 'acorn';

/** Names of objects that are windows. What is read of one in the function that was given it counts as installing. */
const WINDOWS = new Set(['win', 'target', 'globalThis', 'window', 'self']);
/** No script can replace these. */
const FIXED = new Set(['undefined', 'NaN', 'Infinity', 'arguments']);
/** Members of windows that no script can replace. */
const UNFORGEABLE = new Set(['document', 'location', 'window', 'top']);
const isFunction = ({ type }) => /Function/.test(type);

/** Takes a bundle as one function that is called, gives the places as lines of text. */
export function lateGlobals(code) {
  const found = [];
  const tree = parse(code, { ecmaVersion: 2024, sourceType: 'script', locations: true });
  const report = (node) => found.push(`${node.loc.start.line}: ${code.split('\n')[node.loc.start.line - 1].trim()}`);

  /** `depth`: 0 while the script is evaluated, and more in what is called later. */
  function visit(node, scope, depth, parent, key) {
    if (node.type === 'Identifier') {
      if (isReference(parent, key) && depth > 0 && !FIXED.has(node.name) && !lookUp(scope, node.name)) report(node);
      return;
    }
    if (node.type === 'MemberExpression' && depth > 0 && !node.computed && isWindow(node.object, scope, depth)) {
      if (!UNFORGEABLE.has(node.property.name)) report(node);
    }
    if (node.type === 'VariableDeclarator' && node.id.type === 'ObjectPattern' && node.init && depth > 0) {
      if (isWindow(node.init, scope, depth)) report(node);
    }
    const inner = isFunction(node) && !isCalledAtOnce(node, parent, key) ? depth + 1 : depth;
    const own = declarations(node, scope, inner);
    for (const [name, value] of Object.entries(node)) {
      const late = /^(Static)?(PropertyDefinition)$/.test(node.type) && name === 'value' && !node.static;
      for (const child of Array.isArray(value) ? value : [value]) {
        if (typeof child?.type === 'string') visit(child, own, late ? inner + 1 : inner, node, name);
      }
    }
  }
  visit(tree, undefined, 0);
  return found;
}

function isWindow(node, scope, depth) {
  const name = node.type === 'Identifier' ? node.name : node.property?.name;
  if (!WINDOWS.has(name)) return false;
  // Given to this very function, or taken in it: that is what installs.
  return node.type !== 'Identifier' || lookUp(scope, name)?.depth !== depth;
}

const isCalledAtOnce = (node, parent, key) =>
  parent?.type === 'CallExpression' && key === 'callee' && !node.async && !node.generator;

function isReference(parent, key) {
  if (parent.type === 'MemberExpression') return key !== 'property' || parent.computed;
  if (/^(Property|MethodDefinition|PropertyDefinition)$/.test(parent.type)) return key !== 'key' || parent.computed;
  return !/^(LabeledStatement|BreakStatement|ContinueStatement)$/.test(parent.type);
}

function lookUp(scope, name) {
  for (let at = scope; at; at = at.outer) if (at.names.has(name)) return at;
  return undefined;
}

/** The scope that a node opens, with all that is declared in it. */
function declarations(node, outer, depth) {
  const names = new Set();
  if (isFunction(node)) {
    if (node.id) names.add(node.id.name);
    for (const param of node.params) bind(param, names);
    hoisted(node.body, names);
  } else if (node.type === 'Program') hoisted(node, names);
  else if (/^Class/.test(node.type) && node.id) names.add(node.id.name);
  else if (node.type === 'CatchClause' && node.param) bind(node.param, names);
  for (const statement of statementsOf(node)) {
    if (statement?.type === 'VariableDeclaration') for (const { id } of statement.declarations) bind(id, names);
    else if (/^(Function|Class)Declaration$/.test(statement?.type)) names.add(statement.id.name);
  }
  return names.size ? { names, outer, depth } : outer;
}

function statementsOf(node) {
  if (/^(Program|BlockStatement|StaticBlock)$/.test(node.type)) return node.body;
  if (node.type === 'SwitchStatement') return node.cases.flatMap(({ consequent }) => consequent);
  if (/^For/.test(node.type)) return [node.init ?? node.left];
  return [];
}

/** Names of `var`s, which are declared wherever they stand. */
function hoisted(node, names) {
  if (!node || typeof node !== 'object') return;
  if (node.type === 'VariableDeclaration' && node.kind === 'var')
    for (const { id } of node.declarations) bind(id, names);
  for (const child of Object.values(node).flat()) {
    if (typeof child?.type === 'string' && !isFunction(child)) hoisted(child, names);
  }
}

function bind(pattern, names) {
  if (pattern?.type === 'Identifier') names.add(pattern.name);
  else if (pattern?.type === 'ObjectPattern') for (const each of pattern.properties) bind(each.value ?? each, names);
  else if (pattern?.type === 'ArrayPattern') for (const each of pattern.elements) bind(each, names);
  else if (pattern) bind(pattern.argument ?? pattern.left, names);
}
