"""Reports and findings in the browser."""
