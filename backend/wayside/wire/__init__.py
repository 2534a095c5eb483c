"""Models of everything that crosses a process."""
