"""Assembly: a plan and a seat become a role, running. Nothing else assembles."""
