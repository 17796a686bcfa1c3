"""Drafts: what people typed into forms and have not saved yet."""
