"""Privacy skyline: facts about the target, other people and the family."""
