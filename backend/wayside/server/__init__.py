"""The aiohttp application."""
