"""One subject a file: what is told of it, in a report or as a document of its own."""
