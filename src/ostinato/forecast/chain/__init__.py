"""From counts to forecasts: the Markov chain of pattern and contexts, and its waiting times."""
