"""The site as it is measured: the product as it is served, beside views that do nothing."""
