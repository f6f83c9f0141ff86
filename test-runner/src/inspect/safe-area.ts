// The edges of the screen that the page must leave free, by what the browser says and by what the SDK says.

interface Insets {
  top: number;
  right: number;
  bottom: number;
  left: number;
}

/** What was found. Lengths are CSS pixels. */
export interface SafeArea {
  /** Who was believed: the SDK where it answers, else the browser. */
  source: 'sdk' | 'css-env';
  /** `env(safe-area-inset-*)`, as laid out here. */
  cssEnv: Insets;
  /** `SafeAreaInsets.get()` of the SDK. */
  sdkInsets: Insets | null;
  sdkInsetsSource: string | null;
  sdkInsetsError: string | null;
  /** Height of the host app's bar over the page: what the SDK wants left free at the top beyond what the browser wants. */
  navBarHeight: number | null;
  navBarHeightSource: string | null;
  innerWidth: number;
  innerHeight: number;
  devicePixelRatio: number;
  userAgent: string;
}

export async function safeArea(): Promise<SafeArea> {
  const cssEnv = measured();
  const sdk = await ofSdk();
  const bar = sdk.insets === null ? null : Math.max(0, sdk.insets.top - cssEnv.top);
  return {
    source: sdk.insets === null ? 'css-env' : 'sdk',
    cssEnv,
    sdkInsets: sdk.insets,
    sdkInsetsSource: sdk.source,
    sdkInsetsError: sdk.error,
    navBarHeight: bar,
    navBarHeightSource: bar === null ? null : 'sdk-minus-css-env',
    innerWidth,
    innerHeight,
    devicePixelRatio,
    userAgent: navigator.userAgent,
  };
}

/** `env()` has no other way out than a layout. */
function measured(): Insets {
  const probe = document.createElement('div');
  const side = (name: string) => `env(safe-area-inset-${name}, 0px)`;
  probe.style.cssText = `position:fixed!important;visibility:hidden!important;pointer-events:none!important;inset:0 auto auto 0!important;width:0!important;height:0!important;padding:${side('top')} ${side('right')} ${side('bottom')} ${side('left')}!important`;
  document.documentElement.append(probe);
  try {
    const style = getComputedStyle(probe);
    const length = (text: string) => Number.parseFloat(text) || 0;
    return {
      top: length(style.paddingTop),
      right: length(style.paddingRight),
      bottom: length(style.paddingBottom),
      left: length(style.paddingLeft),
    };
  } finally {
    probe.remove();
  }
}

type Found = { insets: Insets | null; source: string | null; error: string | null };

async function ofSdk(): Promise<Found> {
  const sdk = (globalThis as { __sdk?: Record<string, any> }).__sdk;
  const ways: [string, () => unknown][] = [
    ['SafeAreaInsets.get', () => sdk?.['SafeAreaInsets']?.get?.()],
    ['getSafeAreaInsets', () => sdk?.['getSafeAreaInsets']?.()],
  ];
  let error: string | null = sdk === undefined ? 'the page has no SDK (window.__sdk)' : 'the SDK tells no insets';
  for (const [source, way] of ways) {
    try {
      const insets = read(await way());
      if (insets !== null) return { insets, source, error: null };
    } catch (thrown) {
      error = `${source}: ${thrown instanceof Error ? thrown.message : String(thrown)}`;
    }
  }
  return { insets: null, source: null, error };
}

function read(value: unknown): Insets | null {
  if (typeof value !== 'object' || value === null) return null;
  const { top, right = 0, bottom, left = 0 } = value as Partial<Insets>;
  return typeof top === 'number' && typeof bottom === 'number' ? { top, right, bottom, left } : null;
}
