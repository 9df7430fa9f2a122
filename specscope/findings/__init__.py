"""The rules that turn what was seen into a diagnosis, one file each."""
