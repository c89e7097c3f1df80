#!/bin/bash
mkdir -p /logs/verifier
if python3 /tests/test_shop.py; then echo 1 > /logs/verifier/reward.txt; else echo 0 > /logs/verifier/reward.txt; fi
