"""The parts of every write: unit of work, validation, required privileges, delegation, lockout of the last admin."""
