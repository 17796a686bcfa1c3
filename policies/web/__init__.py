"""The pages about policies and people."""
