"""Compiled loops of learning, waiting times and scoring."""
