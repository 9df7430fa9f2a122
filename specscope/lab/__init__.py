"""The bench: builds small GGUFs, runs a real server, drives load."""
