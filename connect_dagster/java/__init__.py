"""Java's behaviour where others see it: the order of hash maps, JSON, numbers, dates, file formats."""
