"""Full-domain generalization: the most useful node of the lattice that the policy allows."""
