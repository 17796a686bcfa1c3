"""Every read of this app."""
