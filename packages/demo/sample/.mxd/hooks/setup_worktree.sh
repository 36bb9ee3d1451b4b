#!/bin/sh
# Runs in each new worktree. This project needs nothing installed.
exit 0
