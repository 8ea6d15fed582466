"""Forecasting: from a pattern and a history of events to when the next match will complete (SRA paper, section 8)."""
