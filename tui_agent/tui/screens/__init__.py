"""Full screens of the app. A full screen has the app's header and footer, and its own body between them."""
