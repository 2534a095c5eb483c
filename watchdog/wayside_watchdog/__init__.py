"""The process that keeps the others alive."""
