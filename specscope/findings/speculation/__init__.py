"""Rules about speculation."""
