"""Types that every room uses: frozen models, sender levels, locales, findings."""
