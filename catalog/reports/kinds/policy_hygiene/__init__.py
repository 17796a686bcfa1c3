"""The report of policies that are broken, without effect or too wide."""
