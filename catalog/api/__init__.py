"""The part of the public API that is about entities: what there is, and what somebody may reach (api.md 1 and 3.3)."""
