"""The report of policies that are broken, useless or too wide."""
