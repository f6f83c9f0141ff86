// The built-ins the runtime works with, as they were when it was injected. `build-natives.mjs` bundles this file on its own,
// puts it before the runtime, and turns every use of a built-in there (`list.map(f)`, `Object.keys(x)`, `new Map()`) into a
// use of what is taken here. So neither our code nor Vitest's notices when a page or a test replaces one.
// What it cannot turn is the language's own use of them: `[...list]`, `for of`, and `instanceof`.

export { collection, invoke, keysIn, method, optional, untouchedMethods } from './natives/methods.ts';
export { combinators } from './natives/promises.ts';
export { begin, global, take } from './natives/take.ts';
