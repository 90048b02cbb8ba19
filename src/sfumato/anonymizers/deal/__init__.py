"""Deal: groups that need not tile space, improved person by person."""
