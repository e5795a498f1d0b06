"""The pure centre: lifecycles as tables, the one way a job moves, and the proof that it did.

Nothing here does I/O, reads a clock or throws dice: time and chance come in as arguments.
"""
