"""The parts of scripts/handoff, one concern a module."""
