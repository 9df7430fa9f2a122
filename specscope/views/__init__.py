"""The Textual screens. They read the Session and nothing else."""
