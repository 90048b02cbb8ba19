"""The steps of `sf.characterize`: what is combined, counted, expected, found and advised."""
