"""Runs in the words of RFC-022: events, records, input."""
