"""Properties are about what comes out, not about how long a busy machine takes for it."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("no deadline", deadline=None)
settings.load_profile("no deadline")
