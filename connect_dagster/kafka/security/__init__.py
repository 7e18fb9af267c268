"""JAAS, key stores and trust stores in the forms that Java clients read."""
