"""The machine's GPUs through NVML, NVIDIA's management library: ``source.py`` is the way in."""
