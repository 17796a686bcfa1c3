"""The aspects we own: their shapes, and the facts that each of them yields."""
