//! Find, launch and own a Chrome; connect to one that somebody else started.
