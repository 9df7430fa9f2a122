"""Where each setting's value comes from, what is recommended instead, and what drifted."""
