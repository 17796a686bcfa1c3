"""The jobs of reports, one file a kind; each is a program of its own."""
