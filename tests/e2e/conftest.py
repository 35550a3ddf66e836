def pytest_configure(config):
    config.addinivalue_line("markers", "first_minute: installs the wheel in a fresh environment")
