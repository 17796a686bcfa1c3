"""Files of exports: their lines, whatever stands in them, and the patterns that name them."""
