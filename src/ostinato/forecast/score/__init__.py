"""How good forecasts are: scores, baselines, calibration, intervals held against what happened."""
