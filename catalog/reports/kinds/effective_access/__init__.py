"""The report of effective access, counted over the whole catalog."""
