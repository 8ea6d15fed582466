"""Funnels: how far each key got along some steps."""
