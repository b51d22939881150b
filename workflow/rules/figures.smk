"""
Figures, drawn from the two tables alone.
"""
