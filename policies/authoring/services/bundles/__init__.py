"""Policies as code: a folder of YAML files, one for each policy or role, compared with what is stored."""
