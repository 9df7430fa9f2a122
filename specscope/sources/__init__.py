"""The only code that touches the outside world: each source turns one thing into facts."""
