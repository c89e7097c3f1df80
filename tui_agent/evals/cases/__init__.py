"""Cases and suites of an evaluation: their files, images and expectations."""
