"""Home and My access: what somebody has, owns and asked for, and what waits for a decision."""
