"""Audio links."""
