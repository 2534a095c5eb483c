"""Dialogue providers."""
