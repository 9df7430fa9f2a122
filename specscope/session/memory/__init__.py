"""How many bytes a server keeps: weights and caches by arithmetic, and buffers as its log told them. Pure."""
