"""Google Cloud's own files: the hierarchy of projects, deny policies, and conditions."""
