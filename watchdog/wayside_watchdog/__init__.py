"""The watchdog: starts the sidecar and the shell, notices when they die or hang, and always serves a page."""
