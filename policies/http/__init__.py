"""What every interface over HTTP shares: guards, API views, pages."""
