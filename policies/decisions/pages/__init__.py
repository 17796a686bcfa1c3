"""Questions in the browser."""
