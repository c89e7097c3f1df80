def total(prices, percent=0):
    return sum(prices) - percent
