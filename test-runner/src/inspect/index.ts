// What tools look at in a page: its document, what is accessible in it, and the edges of its screen.
export { outline } from './outline';
export { elementOf } from './refs';
export { safeArea } from './safe-area';
export { snapshot } from './snapshot';
