// Entry of `interceptors.js`: a classic script that installs the recorder when it is evaluated. The host may put options
// in the place of the empty ones at its end.
import { type InstallOptions, installBrowseSentEvent } from '../engine/install.ts';

declare const aitCaptureOptions: InstallOptions;

installBrowseSentEvent(aitCaptureOptions);
