"""The pure core: facts in, state out. No clock, no I/O."""
