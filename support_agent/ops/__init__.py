"""The admin's commands: check, doctor, dry run, replay, explain, backtest, coverage, measurements."""
