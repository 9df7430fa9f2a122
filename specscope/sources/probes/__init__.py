"""What may run as root: finds the server's functions, arms probes on them, and prints what they see as lines.

Nothing here imports anything beyond the standard library and its own modules, so that the privileged part stays small.
"""
