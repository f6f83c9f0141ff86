//! Test files: discover, bundle, map positions back, draw code frames.
