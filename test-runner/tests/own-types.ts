// The types that users are given are those of what they get. Checked by the compiler; nothing runs.
/// <reference path="../types/devtools-test.d.ts" />
import type * as given from 'devtools-test';
import type { Transport } from '../src/runtime/transport.ts';

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
type Real = Transport['api'];
type Of<M extends keyof Real> = {
  takes: Same<Flat<Parameters<Real[M]>>, Flat<Parameters<given.Transport[M]>>>;
  gives: Same<Flat<ReturnType<Real[M]>>, Flat<ReturnType<given.Transport[M]>>>;
};
/** One form for interfaces that extend others and those that do not. */
type Flat<T> = T extends (...args: never[]) => unknown
  ? T
  : T extends ArrayBuffer
    ? T
    : T extends object
      ? { [K in keyof T]: Flat<T[K]> }
      : T;

const yes = { takes: true, gives: true } as const;
export const same: { [M in keyof Real]: Of<M> } & { [M in keyof given.Transport]: typeof yes } = {
  connections: yes,
  messages: yes,
  waitFor: yes,
  clear: yes,
};
