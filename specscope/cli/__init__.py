"""The commands: the only place where sources, session and views meet."""
