"""Pure decisions: no I/O, no clock, no pydantic, no asyncio."""
