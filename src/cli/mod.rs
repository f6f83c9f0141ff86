//! The command line: what was typed, and what a person sees.
