"""Tables to try things on: an embedded synthetic census, and loaders for Adult and ACS files."""
