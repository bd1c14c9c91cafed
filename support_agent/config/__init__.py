"""The settings, how file, environment and flags become them, and the files that go with the program."""
