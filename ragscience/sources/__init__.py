"""Where papers come from: addresses on the network that may be asked, and what they answer."""
