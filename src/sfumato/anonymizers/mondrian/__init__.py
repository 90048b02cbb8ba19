"""Mondrian (LeFevre, DeWitt, Ramakrishnan 2006): cut in two as long as every part stays safe."""
