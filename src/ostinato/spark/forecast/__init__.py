"""Forecasting on Spark."""
