"""Wayside: the sidecar that holds the conversation."""
