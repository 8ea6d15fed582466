"""Pictures of forecasts: a table for the terminal, a timeline, and the reliability diagram."""
