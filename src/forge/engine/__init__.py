"""The guarded turn: pure state machine, no I/O."""
