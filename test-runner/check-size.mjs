// Fails when the agent has become too large: every page on a phone loads it before the app. Usage: node check-size.mjs
import { gzipSync } from 'node:zlib';
import { built } from './built.mjs';

const LIMIT = 30 * 1024;

const [agent] = built('agent');
const size = gzipSync(agent).length;
console.log(`agent.js: ${size} bytes gzipped, ${LIMIT} allowed`);
if (size > LIMIT) {
  console.error('The agent is too large. Take something out of src/agent, or load it only when it is asked for.');
  process.exitCode = 1;
}
