"""specscope: a live profiler for speculative decoding on llama-server."""

__version__ = "0.1.0"
