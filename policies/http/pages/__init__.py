"""Code shared by pages."""
