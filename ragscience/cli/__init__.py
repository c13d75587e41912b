"""The commands: arguments, the chat, and what is printed."""
