"""What every package uses: records, settings, errors and text."""
