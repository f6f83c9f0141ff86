// Trusted Types: where a page takes no plain text as code, a policy of ours turns it into something that it takes.

import { apply, win } from '../shared/natives';

const POLICY = 'ait-agent';

interface Policy {
  createScript(text: string): unknown;
  createScriptURL(text: string): unknown;
}

interface PolicyFactory {
  createPolicy(name: string, rules: Policy): Policy;
}

const { trustedTypes, TrustedTypePolicy } = win as unknown as {
  trustedTypes?: PolicyFactory;
  TrustedTypePolicy?: { prototype: Policy };
};
const createPolicy = trustedTypes?.createPolicy;
const createScript = TrustedTypePolicy?.prototype.createScript;
const createScriptURL = TrustedTypePolicy?.prototype.createScriptURL;

let policy: Policy | undefined;

/** Makes the policy. False where the engine knows none, or the page allows no other than its own. */
export function makePolicy(): boolean {
  const rules = { createScript: (text: string) => text, createScriptURL: (text: string) => text };
  try {
    if (createPolicy) policy ??= apply(createPolicy, trustedTypes, [POLICY, rules]) as Policy;
  } catch {
    // The page lists the policies that may be made.
  }
  return policy !== undefined;
}

/** The text as code; plain where there is no policy. */
export function trustedScript(text: string): string {
  return policy && createScript ? (apply(createScript, policy, [text]) as string) : text;
}

/** The address of a script; plain where there is no policy. */
export function trustedAddress(address: string): string {
  return policy && createScriptURL ? (apply(createScriptURL, policy, [address]) as string) : address;
}
