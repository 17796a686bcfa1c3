"""What views of the project's own API share."""
