"""Full screens of the app, each with the app's header and footer and its own body."""
