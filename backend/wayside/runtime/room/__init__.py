"""The room at work: who is registered, what crosses it, who may speak."""
