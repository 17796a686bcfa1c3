"""Questions of Home and My access."""
