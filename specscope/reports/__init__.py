"""The state as text, JSON and files."""
