"""The pure core: nouns, matching and decisions, without Django, I/O or a clock."""
