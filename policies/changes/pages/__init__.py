"""What changes would give and take, in sentences."""
