// Stands for a CSS module: every class has its own name. CommonJS, so that classes can be imported by name too.
module.exports = Object.create(
  new Proxy(Object.create(null), {
    get: (_target, name) => (typeof name === "string" && name !== "then" && name !== "__esModule" ? name : undefined),
  }),
);
