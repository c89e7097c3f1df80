"""`tui-agent eval`: run suites of tasks and compare models and configurations."""
