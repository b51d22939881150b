"""Small attention models trained for many seeds at once: tasks, heads, optimizers, and what is recorded.

All arrays have a leading axis of runs. A run is one seed at one learning rate; runs share nothing but the calls
that compute them.
"""
