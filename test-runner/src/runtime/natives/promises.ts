// Promises with the `then` they were made with, whatever the page calls `then` now.
import { type Any, apply, type Fn, hasOwn, prototypeOf } from './base.ts';
import { NativePromise, take } from './take.ts';

const promiseThen = take('Promise', 'prototype', 'then');
const promiseResolve = take('Promise', 'resolve') as (value: Any) => Promise<Any>;

function isPlainPromise(object: Any): boolean {
  const is = typeof object === 'object' && object !== null && prototypeOf(object) === NativePromise.prototype;
  return is && !hasOwn(object, 'then');
}

export function then(object: Any, done?: Any, failed?: Any, name: 'then' | 'catch' = 'then'): Any {
  if (!isPlainPromise(object)) return name === 'then' ? object.then(done, failed) : object.catch(failed);
  return new NativePromise((resolve, reject) => {
    apply(promiseThen, object, [answer(done, resolve, resolve, reject), answer(failed, reject, resolve, reject)]);
  });
}

/** A promise that a callback returns is followed with the untouched `then`, too. */
function answer(callback: Any, pass: Fn, resolve: Fn, reject: Fn): Fn {
  if (typeof callback !== 'function') return pass;
  return (value: Any) => {
    try {
      const result = callback(value);
      if (isPlainPromise(result)) apply(promiseThen, result, [resolve, reject]);
      else resolve(result);
    } catch (error) {
      reject(error);
    }
  };
}

export function lastly(object: Any, callback: Any): Any {
  if (!isPlainPromise(object) || typeof callback !== 'function') return object.finally(callback);
  return new NativePromise((resolve, reject) => {
    const after = (end: Fn) => (value: Any) => {
      then(
        call(callback),
        () => end(value),
        (error: Any) => reject(error),
      );
    };
    apply(promiseThen, object, [after(resolve), after(reject)]);
  });
}

const call = async (callback: Fn): Promise<Any> => await callback();

function each(promises: Any, settle: (index: number, promise: Promise<Any>) => void): number {
  let count = 0;
  for (const promise of promises) settle(count++, promiseResolve(promise));
  return count;
}

/** `Promise.all`, `allSettled` and `race` ask each promise for its `then`, so they are written anew. */
export const combinators: Record<string, (promises: Iterable<Any>) => Promise<Any>> = {
  all: (promises) =>
    new NativePromise((resolve, reject) => {
      const values: Any[] = [];
      let left = 1;
      const end = () => --left === 0 && resolve(values);
      each(promises, (i, promise) => {
        left++;
        values[i] = undefined;
        then(
          promise,
          (value: Any) => {
            values[i] = value;
            end();
          },
          reject,
        );
      });
      end();
    }),
  allSettled: (promises) =>
    (combinators['all'] as Fn)(
      mapped(promises, (promise) =>
        then(
          promise,
          (value: Any) => ({ status: 'fulfilled', value }),
          (reason: Any) => ({ status: 'rejected', reason }),
        ),
      ),
    ),
  race: (promises) =>
    new NativePromise((resolve, reject) => {
      each(promises, (_, promise) => then(promise, resolve, reject));
    }),
};

function mapped(promises: Iterable<Any>, change: (promise: Promise<Any>) => Any): Any[] {
  const out: Any[] = [];
  each(promises, (i, promise) => {
    out[i] = change(promise);
  });
  return out;
}
