"""How this installation is doing: who answers from which policies, and what makes answering slow."""
