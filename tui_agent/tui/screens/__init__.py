"""Full screens: they keep the header and the footer, and replace the body."""
