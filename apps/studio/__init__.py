"""The studio: a page on which class folders grow, are corrected, and become models."""
