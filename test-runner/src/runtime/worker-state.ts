// The state that Vitest expects its worker to have set up before any of its modules is evaluated: import this first.

/** Vitest 5's defaults for everything that is read while tests run. */
export const config = {
  root: '/',
  name: undefined,
  setupFiles: [],
  passWithNoTests: false,
  allowOnly: true,
  testNamePattern: undefined,
  testTimeout: 5_000,
  hookTimeout: 10_000,
  // The concurrent tests of one suite that run at a time.
  maxConcurrency: 5,
  retry: 0,
  repeats: 0,
  includeTaskLocation: false,
  taskTitleValueFormatTruncate: 40,
  clearMocks: true,
  mockReset: false,
  restoreMocks: false,
  unstubEnvs: false,
  unstubGlobals: false,
  tags: [],
  strictTags: false,
  sequence: { shuffle: false, concurrent: false, seed: 1, hooks: 'stack', setupFiles: 'list' },
  expect: { poll: {} },
  fakeTimers: { loopLimit: 10_000, shouldClearNativeTimers: true },
  benchmark: { enabled: false },
  experimental: { importDurations: { limit: 0 }, traceTimeline: false },
  snapshotOptions: {
    // Nothing is ever written from a page: an inline snapshot is compared, and that is all.
    updateSnapshot: 'none',
    expand: false,
    snapshotEnvironment: {
      getVersion: () => '1',
      getHeader: () => '',
      resolvePath: async (path: string) => `${path}.snap`,
      resolveRawPath: async (_test: string, path: string) => path,
      readSnapshotFile: async () => null,
      saveSnapshotFile: async () => {},
      removeSnapshotFile: async () => {},
    },
  },
};

export const workerState = {
  ctx: { pool: 'browser' },
  config,
  environment: { name: 'browser' },
  rpc: { snapshotSaved: async () => {} },
  durations: { fetch: 0 },
  providedContext: {},
  metaEnv: {},
  resolvingModules: new Set(),
  evaluatedModules: { idToModuleMap: new Map() },
  onCleanup: () => {},
  current: undefined,
  filepath: '',
};

Object.defineProperty(globalThis, '__vitest_worker__', { value: workerState });
