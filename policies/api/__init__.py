"""The public API: JSON under /api/v1/, for programs (the contract is docs/api.md)."""
