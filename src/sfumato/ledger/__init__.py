"""The ledger: what was published before, and what a new release adds up to with it."""
