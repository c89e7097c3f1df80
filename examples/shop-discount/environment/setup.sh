#!/bin/bash
# Prepares the environment: the example needs nothing but Python.
python3 --version
