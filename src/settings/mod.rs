//! Flags, environment and files, resolved into one set of settings.
