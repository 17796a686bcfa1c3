"""Pages of Home and My access."""
