// Entry of `interceptors.js`: a classic script that installs the recorder when it is evaluated. The host may put options
// in the place of the empty ones at its end.
import { type InstallOptions, installBrowseSentEvent } from '../engine/install.ts';
import { win } from '../shared/natives.ts';
import { ownerOf } from '../shared/owner.ts';
import type { Realm } from './types.ts';

const { parent } = win;
declare const aitCaptureOptions: InstallOptions;

/** No host hears a frame of a page that is led by one; such frames are counted instead. */
function isInsideRecorded(): boolean {
  try {
    return aitCaptureOptions.forward === true && parent !== win && ownerOf(parent as Realm) !== undefined;
  } catch {
    return false;
  }
}

if (!isInsideRecorded()) installBrowseSentEvent(aitCaptureOptions);
