"""Commands of who may do what."""
