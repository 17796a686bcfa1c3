"""Code shared by every HTTP interface: guards, API views, pages."""
