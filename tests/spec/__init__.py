"""Decision tables: the specification, written out case by case."""
