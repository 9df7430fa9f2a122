"""Rules about sampling."""
