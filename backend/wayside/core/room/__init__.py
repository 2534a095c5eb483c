"""The room in the words of RFC-021: who is in it, who may know what, and what crosses it. Pure decisions only."""
