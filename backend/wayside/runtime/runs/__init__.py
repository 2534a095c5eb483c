"""Runs at work: lanes, attempts with deadlines, a journal that is written before anybody sees it (RFC-022)."""
