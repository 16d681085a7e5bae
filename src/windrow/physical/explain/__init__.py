"""Plans and decisions in words."""
