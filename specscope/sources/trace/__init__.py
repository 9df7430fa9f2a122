"""Tracing: the helper that arms the probes (sources/probes) is started and read here, unprivileged."""
