//! Reporters: each a fold of the run's events.
