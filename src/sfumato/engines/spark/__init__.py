"""Spark: the same portable SQL where one machine is outgrown."""

from sfumato.engines.spark.engine import Spark

__all__ = ["Spark"]
