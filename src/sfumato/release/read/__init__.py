"""Reading a release back, ours or a stranger's, into groups and how they describe their people."""
