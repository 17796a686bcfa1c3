"""What every write goes through: the unit of work, validation, required privileges, lockout."""
