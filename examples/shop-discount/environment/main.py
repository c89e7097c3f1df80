import sys

from shop import total

if __name__ == "__main__":
    print(f"{total([float(price) for price in sys.argv[1:]]):.2f}")
