"""``python -m specscope``."""

from __future__ import annotations

import sys

from specscope.cli.main import main

sys.exit(main())
