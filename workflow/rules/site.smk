"""
The site: generated pages, one render, checked before it takes the place of the old one.
"""
