"""Reports: what was found, as data, on a terminal and in files."""
