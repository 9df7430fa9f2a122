"""What speculation costs and gains: cycle time by width, plain decode time, the best width, regimes, prefill."""
