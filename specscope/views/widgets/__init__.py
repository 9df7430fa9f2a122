"""Drawing widgets shared by panels."""
