"""The page: a local web server for predictions and their explanations."""
