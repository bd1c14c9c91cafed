"""From bytes to a message, and back. No connection is opened here, except to the DNS where DKIM is checked."""
