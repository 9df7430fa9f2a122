"""Panels: one file each, none knows another."""
