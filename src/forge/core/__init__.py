"""Messages, workflows, the runner and the neutral request and events that everything speaks."""
