"""Pages of requests: asking for access, one's own requests, and deciding."""
