"""A policy proposed from the data, with the questions that only the owner can answer."""
