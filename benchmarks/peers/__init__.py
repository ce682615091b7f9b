"""What we are compared with: other libraries, and algorithms as the papers print them."""
