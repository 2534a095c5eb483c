"""The fullscreen shell."""
