"""The pages under /settings/ about oneself, and the frame around all of them."""
