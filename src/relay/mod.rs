//! The relay a page on a phone dials into.
