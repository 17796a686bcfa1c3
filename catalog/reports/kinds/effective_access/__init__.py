"""The report of who may do what, counted over the whole catalog."""
