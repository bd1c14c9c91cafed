"""The wire: IMAP, SMTP, signing in, TLS."""
