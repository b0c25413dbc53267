"""What a run tells: moments for callbacks, events for sinks, and records that remain."""
