// Looks at texts by their characters. A regular expression that matches changes `RegExp.$1` and its like, and a page may
// want those as it left them, around a call of `fetch` or `send` too.
import { apply, indexOf, lowerCase, slice, sourceOf } from './natives.ts';

const { charCodeAt, trim: nativeTrim, endsWith: nativeEndsWith } = String.prototype;
/** What a platform writes in the place of the code of its functions. */
const MARK = '[native code]';

export const trim = (text: string): string => apply(nativeTrim, text, []);
export const endsWith = (text: string, end: string): boolean => apply(nativeEndsWith, text, [end]);
export const codeAt = (text: string, index: number): number => apply(charCodeAt, text, [index]);

/** Whether there is a text, and each of its characters is one that `allows`. */
export function consistsOf(text: string, allows: (code: number) => boolean): boolean {
  for (let i = 0; i < text.length; i++) if (!allows(codeAt(text, i))) return false;
  return text.length > 0;
}

export const isDigit = (code: number): boolean => code >= 0x30 && code <= 0x39;
export const isLetter = (code: number): boolean => (code | 0x20) >= 0x61 && (code | 0x20) <= 0x7a;

/** Whether a text is one of the words, which are written in small letters and between spaces. */
export const isOneOf = (text: string, words: string): boolean =>
  consistsOf(text, (code) => code > 0x20) && indexOf(words, ` ${lowerCase(text)} `) >= 0;

/** The scheme of an address that has one, without its colon. */
export function schemeOf(url: string): string {
  const colon = indexOf(url, ':');
  return colon < 0 ? '' : slice(url, 0, colon);
}

/** Whether a function is the platform's, as its source text says. */
export const isNative = (fn: object): boolean => {
  const source = trim(sourceOf(fn));
  const body = trim(slice(source, 0, -1));
  return endsWith(source, '}') && endsWith(body, MARK) && endsWith(trim(slice(body, 0, -MARK.length)), '{');
};
