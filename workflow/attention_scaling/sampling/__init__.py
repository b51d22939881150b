"""Random numbers: streams that never depend on who draws them, and samplers of scores."""
