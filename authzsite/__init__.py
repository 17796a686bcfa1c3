"""The project package: wiring, no business rules."""
