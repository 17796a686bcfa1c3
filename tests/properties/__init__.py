"""Laws that hold in every world, checked on generated ones."""
