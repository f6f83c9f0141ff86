// Entry of `replay.js`: a classic script that leads connections of the page to where a recording of them is played. The
// host puts the place in the parentheses at its end.
import { installReplay } from './install.ts';

declare const aitReplayPlace: string;

installReplay(aitReplayPlace);
