"""Engines run portable SQL over a table's rows: DuckDB embedded, Spark where one is outgrown."""
