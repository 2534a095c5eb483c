"""Protocols for everything outside, each with the fake that passes its contract suite."""
