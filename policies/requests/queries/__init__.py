"""Lists of requests, for those who may read them."""
