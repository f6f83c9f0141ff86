// Stands for the SDK package. Every name is read from `window.__sdk` at the moment it is used, and handed out as it
// is, so that static properties and `instanceof` hold. CommonJS on purpose: then any name can be imported, and a name
// that is no own property of the exports is looked up on their prototype, which is `live`.
const specifier = "__SPECIFIER__";

const absent = (name) => {
  throw new Error(
    `'${String(name)}' of '${specifier}' was used, but the page has no window.__sdk. ` +
      "Run this test in a page that loads the SDK, or put a stand-in on window.__sdk before it starts.",
  );
};

// What is handed out while there is no SDK: it can be looked at with `typeof` and carried about, any use of it fails.
const placeholders = new Map();
const placeholder = (name) => {
  let it = placeholders.get(name);
  if (!it) {
    const fail = () => absent(name);
    it = new Proxy(function () {}, {
      get: (_target, key) => absent(name === "default" && typeof key === "string" ? key : name),
      set: fail,
      has: fail,
      apply: fail,
      construct: fail,
      ownKeys: fail,
      defineProperty: fail,
      deleteProperty: fail,
      getPrototypeOf: fail,
      getOwnPropertyDescriptor: fail,
    });
    placeholders.set(name, it);
  }
  return it;
};

const read = (name) => {
  const sdk = globalThis.__sdk;
  // A namespace with a `then` would be taken for a promise by `await import(...)`.
  if (name === "then") return undefined;
  if (name === "__esModule") return true;
  if (sdk === undefined || sdk === null) return typeof name === "symbol" ? undefined : placeholder(name);
  if (name === "default" && !("default" in sdk)) return live;
  return sdk[name];
};

const live = new Proxy(Object.create(null), {
  get: (_target, name) => read(name),
  set: (_target, name, value) => Reflect.set(globalThis.__sdk ?? absent(name), name, value),
  has: (_target, name) => name === "default" || Reflect.has(globalThis.__sdk ?? {}, name),
  ownKeys: () => Reflect.ownKeys(globalThis.__sdk ?? {}),
  getOwnPropertyDescriptor: (_target, name) =>
    Object.hasOwn(globalThis.__sdk ?? {}, name)
      ? { value: read(name), writable: true, enumerable: true, configurable: true }
      : undefined,
});

// Own properties for what is there now, so that `export * from` and `Object.keys` of a namespace import find it.
const exported = Object.create(live);
Object.defineProperty(exported, "__esModule", { value: true });
for (const name of Reflect.ownKeys(live)) {
  if (typeof name === "string" && name !== "__esModule" && name !== "then") {
    Object.defineProperty(exported, name, { enumerable: true, configurable: true, get: () => read(name) });
  }
}
module.exports = exported;
