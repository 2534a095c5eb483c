"""Exhibit packs: read, check, build."""
