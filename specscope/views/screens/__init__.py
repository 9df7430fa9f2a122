"""Screens: which panels stand where."""
