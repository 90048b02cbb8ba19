"""How a policy is drafted from data: look, guess, measure, fit, try, write."""
