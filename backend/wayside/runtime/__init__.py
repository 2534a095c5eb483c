"""Asyncio shells that feed events to the core and carry out its commands."""
