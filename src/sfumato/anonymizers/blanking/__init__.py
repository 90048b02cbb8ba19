"""Local suppression: single cells are blanked where people would stand out."""
