"""External IAM roles: the datasets that they open, and their holders."""
