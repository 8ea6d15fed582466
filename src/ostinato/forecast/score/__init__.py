"""How good forecasts are: scores, baselines, calibration, and checks of intervals."""
