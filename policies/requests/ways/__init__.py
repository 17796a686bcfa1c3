"""Ways: the changes of which each would give somebody what was refused, with what else each would give and take.

`finding.find_ways` works them out. Nothing is stored: a way is a list of changes as `POST /api/v1/preview` takes them.
"""
