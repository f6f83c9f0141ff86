// What the bundler must replace so that packages written for Node run in a bare page.

/** @type {import('esbuild').Plugin[]} */
export const pagePlugins = [];
