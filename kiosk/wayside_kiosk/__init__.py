"""The shell: one fullscreen webview that shows the page and lets nobody out of it."""
