"""External IAM roles: which of them open which dataset, and who holds them."""
