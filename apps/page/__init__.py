"""The page: a local web server that shows what a model says of an image, and why."""
