// What tools evaluate in a page, beyond the code they were given.
export { callSdk } from './call-sdk';
export { describe } from './describe';
