"""The pure core: model, matching and decisions, without Django, I/O or a clock."""
