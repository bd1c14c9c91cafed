"""Words that everybody uses: frozen models, sender levels, locales, findings."""
